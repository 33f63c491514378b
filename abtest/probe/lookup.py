"""What a recorded name stands for: a local, an attribute of it, a number inside an array."""

from __future__ import annotations

import re
import struct
from typing import Any, Mapping, NamedTuple

MISSING = object()
ON_DEVICE = "on device"  # recorded instead of a value that cannot be read now
FORM = re.compile(
    r"(?:(?P<alias>[A-Za-z_]\w*)=)?(?P<local>[A-Za-z_]\w*)(?P<attributes>(?:\.[A-Za-z_]\w*)*)"
    r"(?:(?:@(?P<view>i32|i64))?\[(?P<index>\d{1,9})\])?"
)
WIDTHS = {"i32": ("<i", 4), "i64": ("<q", 8)}


class Lookup(NamedTuple):
    """One thing to record: `alias=local.attribute@i32[19]`, where all but the local may be left out.

    Args:
        name: what it is called in the record: the alias, else the whole text.
        attributes: followed from the local, in order.
        place: element to take, None for the value itself.
        view: "i32" or "i64" reads the array's bytes as such numbers; None takes the elements as they are.
    """

    name: str
    local: str
    attributes: tuple[str, ...]
    place: int | None
    view: str | None


def parse(text: str) -> Lookup:
    """Parse the text of an experiment.

    Raises:
        ValueError: it has another form.

    >>> parse("kv_splits=metadata@i32[19]")
    Lookup(name='kv_splits', local='metadata', attributes=(), place=19, view='i32')
    """
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not of the form alias=local.attribute@i32[index]")
    attributes = tuple(part for part in found["attributes"].split(".") if part)
    index = None if found["index"] is None else int(found["index"])
    return Lookup(found["alias"] or text, found["local"], attributes, index, found["view"])


def find(lookup: Lookup, names: Mapping[str, Any], *, read_device: bool = True) -> Any:  # noqa: ANN401 - a local is of any type
    """Find the value among a frame's locals; MISSING where a name or an element does not exist there.

    Args:
        read_device: False while a graph is captured: to read a device's memory would wait for it, and end the capture.
    """
    value = names.get(lookup.local, MISSING)
    for attribute in lookup.attributes:
        value = getattr(value, attribute, MISSING)
    if not read_device and getattr(value, "is_cuda", False):
        return ON_DEVICE
    if value is MISSING or lookup.place is None:
        return value
    return _element(value, lookup.place, lookup.view)


def _element(value: Any, index: int, view: str | None) -> Any:  # noqa: ANN401 - the same
    if view is None:
        try:
            return value[index]
        except (IndexError, KeyError, TypeError):
            return MISSING
    for step in (
        "detach",
        "cpu",
        "numpy",
    ):  # a tensor becomes an array; an array has no such method
        value = getattr(value, step)() if hasattr(value, step) else value
    form, width = WIDTHS[view]
    data = value.tobytes() if hasattr(value, "tobytes") else bytes(value)
    if (index + 1) * width > len(data):
        return MISSING
    return struct.unpack_from(form, data, index * width)[0]

"""A brief reading: of each trial only what a summary looks at, and equal parts held once.

A ledger of 100 000 records says the same identity, routes and environment thousands of times. Here such a part
is decoded when its bytes are first seen, and shared by all records that say the same. That is what keeps a
large summary within seconds and a few hundred megabytes.
"""

import dataclasses
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

import msgspec

from abtest.ledger import codec
from abtest.model.names import Cell, Condition, cell_of
from abtest.model.trial import TrialRecord

# No summary looks at these: a brief record has the defaults there, whatever its line says.
LEFT_OUT = (
    "run",
    "started_at",
    "phases_s",
    "warmup",
    "prompt_sha256",
    "environment_sha256",
    "files",
)
SHARED = ("routes", "environment", "container", "outputs", "identity")
NAMES = ("spec_sha256", "isolation", "host", "caches")
# What names one process or one container only; blank, so that the rest of the part can be shared.
OWN = {
    "identity": (re.compile(rb'"pid": ?[0-9]+'), b'"pid":0'),
    "container": (re.compile(rb'"id": ?"[^"\\]*"'), b'"id":""'),
}


class Reader:
    """Decodes lines of one ledger; make a new one for each ledger."""

    def __init__(self) -> None:
        types = get_type_hints(TrialRecord)
        self._read: Callable[[bytes], Any] = msgspec.json.Decoder(_line_type(types)).decode
        self._parts: dict[str, dict[bytes, object]] = {name: {} for name in SHARED}
        self._part_of = {name: msgspec.json.Decoder(types[name]).decode for name in SHARED}

    def decode(self, line: bytes) -> codec.Line:
        """Read one line; whatever is no sound trial is left to the thorough reading to explain.

        Raises:
            AlienLineError: as `codec.decode`.
        """
        try:
            found = self._read(line)
            if found.kind != "trial" or not 1 <= found.schema <= codec.SCHEMA:
                return codec.decode(line)
            for name in SHARED:
                setattr(found, name, self._part(name, getattr(found, name)))
        except codec.FAULTS:
            return codec.decode(line)
        for name in NAMES:
            if text := getattr(found, name):
                setattr(found, name, sys.intern(text))
        found.cell = cell_of(found.arm, found.depth, found.batch)
        found.condition = found.cell.condition
        return found  # type: ignore[no-any-return]  # made below: all that a TrialRecord has

    def _part(self, name: str, raw: msgspec.Raw) -> object:
        key = bytes(raw)
        if name in OWN:
            pattern, blank = OWN[name]
            key = pattern.sub(blank, key)
        known = self._parts[name]
        if key not in known:
            known[key] = self._part_of[name](key)
        return known[key]


def _default(one: "dataclasses.Field[Any]") -> object:
    if one.default_factory is not dataclasses.MISSING:
        return one.default_factory()
    return "" if one.default is dataclasses.MISSING else one.default


def _line_type(types: Mapping[str, Any]) -> type[msgspec.Struct]:
    """Make the type of one line: the attributes of a trial record, shared parts raw at first.

    A structure of its own, since building 100 000 frozen records field by field takes longer than decoding them.
    """
    columns: list[Any] = [("kind", str), ("schema", int)]
    fixed: dict[str, object] = {"counts": TrialRecord.counts}
    for one in dataclasses.fields(TrialRecord):
        raw = one.name in SHARED
        kind = msgspec.Raw if raw else types[one.name]
        if one.name in LEFT_OUT:
            fixed[one.name] = _default(one)
        elif one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING:
            columns.append((one.name, kind))
        else:
            value = _default(one)
            default = msgspec.Raw(msgspec.json.encode(value)) if raw else value
            columns.append((one.name, kind, default))
    columns += [("cell", Cell | None, None), ("condition", Condition | None, None)]
    return msgspec.defstruct("BriefRecord", columns, namespace=fixed, kw_only=True, gc=False)

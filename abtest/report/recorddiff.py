"""What differs between two records: what should be the same first, then what was measured."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

from abtest.model.trial import TrialRecord
from abtest.report.neutralise import neutral

NONE = "-"
_MEMBER = re.compile(r"#\d+")  # a member of a list in a path, by its number
WIDTH = 60  # of a value; a longer one goes on its own line
PLACE = (
    "trial",
    "arm",
    "depth",
    "batch",
    "round",
    "slot",
    "order",
    "discarded",
    "started_at",
    "files",
)
MEASURED = (
    "phases_s",
    "pairs",
    "warmup",
    "token_s_per_token",
    "outputs",
    "telemetry",
    "flags",
    "reason",
    "status",
)
# A process has another number every time; a container its own id.
NEVER_EQUAL = ("identity.*.pid", "container.id")


def render(left: TrialRecord, right: TrialRecord) -> str:
    """Write every field that differs, in three groups; a group without one says so."""
    found = list(_differing(left, right))
    groups: dict[str, list[tuple[str, str, str]]] = {
        "what ran, and in what": [],
        "what was measured": [],
        "which trial it is": [],
    }
    what, measured, place = groups.values()
    for row in found:
        top = row[0].partition(".")[0]
        (place if top in PLACE else measured if top in MEASURED else what).append(row)
    lines = [f"left: {neutral(left.trial)}", f"right: {neutral(right.trial)}"]
    for title, rows in groups.items():
        lines += ["", f"{title}:{'' if rows else ' no difference'}", *_rows(rows)]
    return "\n".join(lines) + "\n"


def _rows(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    widest = max((len(name) for name, _, _ in rows), default=0)
    for name, left, right in rows:
        if len(left) + len(right) <= WIDTH:
            yield f"  {name:<{widest}}  {left} -> {right}"
        else:
            yield f"  {name}"
            yield f"    left:  {left}"
            yield f"    right: {right}"


def _differing(left: TrialRecord, right: TrialRecord) -> Iterator[tuple[str, str, str]]:
    """Give each difference once: where all members of a list differ in the same way, as `list.*`."""
    one, other = dict(_flat("", left)), dict(_flat("", right))
    found: dict[tuple[str, str, str], list[str]] = {}
    for name in dict.fromkeys([*one, *other]):
        values = one.get(name, NONE), other.get(name, NONE)
        general = _MEMBER.sub("*", name)
        if values[0] != values[1] and general not in NEVER_EQUAL:
            found.setdefault((general, *values), []).append(name)
    for (general, was, now), names in found.items():
        shown = general if len(names) > 1 else names[0].replace("#", "")
        yield neutral(shown), neutral(was), neutral(now)


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Give every leaf by its path, lists by their number from 1; an empty one is a leaf."""
    inner: list[tuple[str, object]] = []
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        inner = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    elif isinstance(value, Mapping):
        inner = [(str(key), one) for key, one in value.items()]
    elif isinstance(value, list | tuple):
        inner = [(f"#{number}", one) for number, one in enumerate(value, start=1)]
    for key, one in inner:
        yield from _flat(f"{name}.{key}" if name else key, one)
    if not inner:
        yield name, _leaf(value)


def _leaf(value: object) -> str:
    if value is None or value in ((), [], {}):
        return NONE
    return f"{value:.6g}" if isinstance(value, float) else str(value)

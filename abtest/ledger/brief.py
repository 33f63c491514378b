"""A brief reading: of each trial only what a summary looks at, and equal parts held once.

A ledger of 100 000 records says the same identity, routes and environment thousands of times. Here such a part
is decoded when its bytes are first seen, and shared by all records that say the same. That is what keeps a
large summary within seconds and a few hundred megabytes.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, get_type_hints

import msgspec

from abtest.ledger import codec
from abtest.model.names import Cell, Condition, cell_of
from abtest.model.telemetry import Telemetry
from abtest.model.trial import ContainerFacts, RankIdentity, Seconds, TrialRecord

# No summary looks at these: a brief record has the defaults there, whatever its line says.
LEFT_OUT = (
    "run",
    "started_at",
    "phases_s",
    "warmup",
    "prompt_sha256",
    "environment_sha256",
    "files",
    "engine_log",
)
# What names one process or one container only is left out too, so that the rest of the part can be shared.
OWN = {"identity": "pid", "container": "id"}
BLANK = {"pid": 0, "id": ""}
KIND = "trial"
RAW = ("routes", "environment", "outputs", "caches")


class _BriefPair(msgspec.Struct, frozen=True, gc=False):
    """A pair without its order."""

    t_short_s: Seconds
    t_long_s: Seconds
    first: ClassVar[str] = ""


class _Parts(dict[bytes, Any]):
    """Parts by their bytes, each decoded when it is first asked for."""

    def __init__(self, kind: Any) -> None:  # noqa: ANN401 - a type, or what typing makes of one
        super().__init__()
        self._make: Callable[[bytes], object] = msgspec.json.Decoder(kind).decode

    def __missing__(self, key: bytes) -> object:
        part = self[key] = self._make(key)
        return part


class Reader:
    """Decodes lines of one ledger; make a new one for each ledger."""

    def __init__(self) -> None:
        types = get_type_hints(TrialRecord, include_extras=True)
        self._read: Callable[[bytes], Any] = msgspec.json.Decoder(_line_type(types)).decode
        self._raw = tuple(_Parts(types[name]) for name in RAW)
        self._whole: dict[object, object] = {}
        # Of each cell what its latest trial said, as it was read and as it is shared.
        self._latest: dict[tuple[str, int, int], tuple[tuple[Any, ...], tuple[Any, ...]]] = {}

    def decode(self, line: bytes) -> codec.Line:
        """Read one line; whatever is no sound trial is left to the thorough reading to explain.

        Raises:
            AlienLineError: as `codec.decode`.
        """
        try:
            found = self._read(line)
            if found.kind != KIND or not 1 <= found.schema <= codec.SCHEMA:
                return codec.decode(line)
            # Written out one by one: a loop over their names would take as long as the decoding.
            place = (found.arm, found.depth, found.batch)
            said = (
                found.routes, found.environment, found.outputs, found.caches,
                found.identity, found.container, found.spec_sha256, found.isolation, found.host,
            )  # fmt: skip
            latest = self._latest.get(place)
            # A cell mostly says again what it said the last time, and to compare is quicker than to look up.
            if latest is None or latest[0] != said:
                latest = self._latest[place] = said, self._shared(place, said)
        except codec.FAULTS:
            return codec.decode(line)
        (
            found.kind, found.arm, found.condition, found.cell,
            found.routes, found.environment, found.outputs, found.caches,
            found.identity, found.container, found.spec_sha256, found.isolation, found.host,
        ) = latest[1]  # fmt: skip
        return found  # type: ignore[no-any-return]  # made below: all that a TrialRecord has

    def _shared(self, place: tuple[str, int, int], said: tuple[Any, ...]) -> tuple[Any, ...]:
        """Find for each part the one object that all records share which say the same."""
        cell = cell_of(*place)
        parts = (made[bytes(raw)] for made, raw in zip(self._raw, said, strict=False))
        return (KIND, cell.arm, cell.condition, cell, *parts, *map(self._same, said[len(RAW) :]))

    def _same(self, part: object) -> object:
        try:
            return self._whole.setdefault(part, part)
        except TypeError:  # hashes of JIT functions are a mapping, which cannot be a key itself
            return self._whole.setdefault(msgspec.json.encode(part), part)


def _default(one: "dataclasses.Field[Any]") -> object:
    if one.default_factory is not dataclasses.MISSING:
        return one.default_factory()
    return "" if one.default is dataclasses.MISSING else one.default


def _line_type(types: Mapping[str, Any]) -> type[msgspec.Struct]:
    """Make the type of one line: the attributes of a trial record, parts that repeat raw at first.

    A structure of its own, since building 100 000 frozen records field by field takes longer than decoding them.
    """
    special = {
        **dict.fromkeys(RAW, msgspec.Raw),
        "pairs": tuple[_BriefPair, ...],
        "identity": tuple[_without(RankIdentity, OWN["identity"]), ...],  # type: ignore[misc]  # made here
        "container": _without(ContainerFacts, OWN["container"]) | None,
        "telemetry": _without(Telemetry) | None,
    }
    columns: list[Any] = [("kind", str), ("schema", int)]
    fixed: dict[str, object] = {
        "counts": TrialRecord.counts,
        "cache_policy": TrialRecord.cache_policy,
    }
    for one in dataclasses.fields(TrialRecord):
        if one.name in LEFT_OUT:
            fixed[one.name] = _default(one)
            continue
        column = (one.name, special.get(one.name, types[one.name]))
        if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING:
            columns.append(column)
        else:
            value = _default(one)
            raw = one.name in RAW
            columns.append((*column, msgspec.Raw(msgspec.json.encode(value)) if raw else value))
    columns += [("cell", Cell | None, None), ("condition", Condition | None, None)]
    return msgspec.defstruct("BriefRecord", columns, namespace=fixed, kw_only=True, gc=False)


def _without(kind: type, *names: str) -> Any:  # noqa: ANN401 - a type made at run time
    """Make a frozen copy of a class of facts that lacks some of them; such a copy is quicker to make and smaller."""
    types = get_type_hints(kind)
    columns: list[Any] = []
    blanks: dict[str, object] = {}
    for one in dataclasses.fields(kind):
        if one.name in names:
            blanks[one.name] = BLANK[one.name]
            continue
        if one.default_factory is not dataclasses.MISSING:
            default: tuple[Any, ...] = (msgspec.field(default_factory=one.default_factory),)
        else:
            default = () if one.default is dataclasses.MISSING else (one.default,)
        columns.append((one.name, types[one.name], *default))
    return msgspec.defstruct(kind.__name__, columns, namespace=blanks, frozen=True, gc=False)

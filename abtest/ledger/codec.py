"""Records to JSON lines and back; readers accept every older schema."""

import dataclasses
import json
import re
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from abtest.model.trial import TrialRecord

SCHEMA = 1
CHECKSUM = re.compile(
    rb',"crc32":"([0-9a-f]{8})"\}\n?$'
)  # the last key of a line, over all before it
TAIL_BYTES = len(b',"crc32":"01234567"}\n')
# No count and no time is so large (19 digits, or an exponent of three), and arithmetic ends there.
HUGE = re.compile(
    rb"[\[:,]\s*-?(?:[0-9]{19,}[0-9.]*(?:[eE][+-]?[0-9]+)?|[0-9.]+[eE]\+?0*[1-9][0-9]{2,})\s*[\],}]"
)


class AlienLineError(ValueError):
    """A line that is no record of ours; the reader reports it with its number."""


class Superseded(msgspec.Struct, frozen=True):
    """The record that replaces an earlier trial's."""

    trial: str


class Note(msgspec.Struct, frozen=True):
    """A remark of the ledger."""

    text: str


class _Head(msgspec.Struct, frozen=True):
    kind: str
    schema: int


Line = TrialRecord | Superseded | Note
KINDS: Mapping[str, type] = {"trial": TrialRecord, "superseded": Superseded, "note": Note}


def encode(record: TrialRecord) -> str:
    """Write one record as one line, all keys present, null where not known."""
    body = {field.name: _plain(getattr(record, field.name)) for field in dataclasses.fields(record)}
    return line_of({"schema": SCHEMA, "kind": "trial", **body})


def encode_superseded(trial: str, reason: str, at: str) -> str:
    """Write the record that replaces an earlier one without touching it."""
    return line_of(
        {"schema": SCHEMA, "kind": "superseded", "trial": trial, "reason": reason, "at": at}
    )


def encode_note(text: str, at: str) -> str:
    """Write a remark, such as a torn line that was cut off."""
    return line_of({"schema": SCHEMA, "kind": "note", "text": text, "at": at})


def line_of(body: Mapping[str, Any]) -> str:
    """Write one line with its checksum; the body has every key of its kind, but for that."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)[:-1]
    return f'{text},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def has_huge_number(line: bytes) -> bool:
    """Tell whether a line holds a number that no arithmetic here can take."""
    return HUGE.search(line) is not None


def holds(line: bytes) -> bool | None:
    """Tell whether a line is the one that was written, by its checksum; None where it carries none.

    Older lines carry none, and those of others.
    """
    if line.endswith(b',"crc32":"%08x"}\n' % zlib.crc32(memoryview(line)[:-TAIL_BYTES])):
        return True  # as nearly every line is, in half the time
    found = CHECKSUM.search(line, max(0, len(line) - 24))
    if found is None:
        return None
    return zlib.crc32(memoryview(line)[: found.start()]) == int(found[1], 16)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def decode(line: bytes | str) -> Line:
    """Read one line; keys that an older schema did not have take their defaults, unknown ones are ignored.

    Raises:
        AlienLineError: not JSON, of a kind or schema that is not ours, or a key is missing or has the wrong form.
    """
    try:
        head = _decoder(_Head).decode(line)
    except FAULTS as error:
        raise AlienLineError(f"not a record: {error}") from error
    if not 1 <= head.schema <= SCHEMA:
        raise AlienLineError(f"schema {head.schema} is not known here (up to {SCHEMA})")
    if head.kind not in KINDS:
        raise AlienLineError(f"kind {head.kind!r} is not known here")
    try:
        found: Line = _decoder(KINDS[head.kind]).decode(line)
    except FAULTS as error:
        raise AlienLineError(f"not a record of kind {head.kind}: {error}") from error
    return found


# Deep nesting ends in a RecursionError, bytes that are no text in a UnicodeDecodeError.
FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@cache
def _decoder(kind: type) -> Any:  # noqa: ANN401 - one decoder per type; the callers name what they get
    return msgspec.json.Decoder(kind)

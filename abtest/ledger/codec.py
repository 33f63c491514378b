"""Records to JSON lines and back; readers accept every older schema."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from abtest.model.telemetry import Telemetry
from abtest.model.trial import (
    ContainerFacts,
    Outputs,
    Pair,
    RankIdentity,
    RouteCount,
    Status,
    TrialRecord,
)

SCHEMA = 1


class AlienLineError(ValueError):
    """A line that is no record of ours; the reader reports it with its number."""


def encode(record: TrialRecord) -> str:
    """Write one record as one line, all keys present, null where not known."""
    body = {field.name: _plain(getattr(record, field.name)) for field in dataclasses.fields(record)}
    return _line({"schema": SCHEMA, "kind": "trial", **body})


def encode_superseded(trial: str, reason: str, at: str) -> str:
    """Write the record that replaces an earlier one without touching it."""
    return _line(
        {"schema": SCHEMA, "kind": "superseded", "trial": trial, "reason": reason, "at": at}
    )


def encode_note(text: str, at: str) -> str:
    """Write a remark, such as a torn line that was cut off."""
    return _line({"schema": SCHEMA, "kind": "note", "text": text, "at": at})


def _line(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


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


def decode(line: str) -> dict[str, Any]:
    """Read one line into its raw mapping.

    Raises:
        AlienLineError: not JSON, not a mapping, or of a kind or schema that is not ours.
    """
    try:
        body = json.loads(line)
    except ValueError as error:
        raise AlienLineError(f"not JSON: {error}") from error
    if not isinstance(body, dict) or not isinstance(body.get("kind"), str):
        raise AlienLineError("not a record: it has no kind")
    schema = body.get("schema")
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise AlienLineError(f"schema {schema!r} is not known here (up to {SCHEMA})")
    return body


def trial_record(body: Mapping[str, Any]) -> TrialRecord:
    """Build a trial record from its mapping.

    Raises:
        AlienLineError: a key is missing or has the wrong form.
    """
    try:
        known = {field.name for field in dataclasses.fields(TrialRecord)}
        values = {key: value for key, value in body.items() if key in known}
        values["status"] = Status(values["status"])
        values["tokens"] = (int(values["tokens"][0]), int(values["tokens"][1]))
        values["pairs"] = tuple(_pair(pair) for pair in values.get("pairs", ()))
        values["warmup"] = _pair(values["warmup"]) if values.get("warmup") else None
        values["token_s_per_token"] = tuple(map(float, values.get("token_s_per_token", ())))
        values["flags"] = tuple(map(str, values.get("flags", ())))
        values["kernels"] = tuple(values.get("kernels", ()))
        values["outputs"] = Outputs(**values["outputs"]) if values.get("outputs") else None
        values["container"] = (
            ContainerFacts(**values["container"]) if values.get("container") else None
        )
        values["telemetry"] = _telemetry(values["telemetry"]) if values.get("telemetry") else None
        values["routes"] = tuple(RouteCount(**route) for route in values.get("routes", ()))
        values["identity"] = tuple(_identity(rank) for rank in values.get("identity", ()))
        return TrialRecord(**values)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AlienLineError(f"not a trial record: {type(error).__name__}: {error}") from error


def _pair(value: Mapping[str, Any]) -> Pair:
    return Pair(float(value["t_short_s"]), float(value["t_long_s"]), str(value["first"]))


def _identity(value: Mapping[str, Any]) -> RankIdentity:
    return RankIdentity(**{**value, "copies": tuple(value.get("copies", ()))})


def _telemetry(value: Mapping[str, Any]) -> Telemetry:
    reasons = value.get("reasons")
    return Telemetry(
        **{
            **value,
            "reasons": None if reasons is None else tuple(reasons),
            "foreign": tuple(value.get("foreign", ())),
            "absent": tuple(value.get("absent", ())),
        }
    )

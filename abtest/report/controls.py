"""The noise floor and the planted slow-down as lines under the table, and as JSON."""

from collections.abc import Iterator

from abtest.model.control import ControlResult, LastControl, NoiseFloor
from abtest.report import figures
from abtest.report.jsontypes import ControlJson, LastControlJson, NoiseFloorJson
from abtest.report.neutralise import neutral

WORDS = {"aa": "A/A (the noise floor)", "control": "control (a planted slow-down)"}


def floor_line(one: NoiseFloor) -> str:
    said = "; the same file in both arms, and yet they differ" if one.differs else ""
    return (
        f"noise floor at {one.condition}, n = {one.rounds}: {one.floor_pct:.1f} % "
        f"(ratio {one.ratio:.3f}, {one.low:.3f} to {one.high:.3f}){said}"
    )


def control_line(one: ControlResult) -> str:
    calls = "call" if one.calls_per_token == 1 else "calls"
    planted = (
        f"control at {one.condition}, n = {one.rounds}: planted {figures.significant(one.planted_ms, 3)} ms per token "
        f"({one.per_call_ms:g} ms per call x {one.calls_per_token:g} decode {calls} per token"
    )
    if one.found_ms is None or one.low_ms is None or one.high_ms is None or not one.baseline_ms:
        return f"{planted}); {one.outcome.value}"
    return (
        f"{planted}, {100 * one.planted_ms / one.baseline_ms:+.1f} %); found {one.found_ms:.3f} ms, "
        f"{one.low_ms:.3f} to {one.high_ms:.3f} (paired t, {figures.level(one.level)}): {one.outcome.value}"
    )


def footer(found: tuple[LastControl, ...]) -> tuple[str, ...]:
    """Name the last A/A and the last control for the image and host of a table."""
    return tuple(neutral(line) for one in found for line in _last(one))


def _last(one: LastControl) -> Iterator[str]:
    word = f"last {WORDS[one.kind]} for this image and kind of host"
    if one.run is None:
        yield f"{word}: none"
        return
    yield f"{word}: {one.run}, {one.created}"
    lines = (*map(floor_line, one.floor), *map(control_line, one.control))
    yield from (f"  {line}" for line in lines or ("nothing was measured",))


def floor_json(one: NoiseFloor) -> NoiseFloorJson:
    return {
        "depth": one.condition.depth,
        "batch": one.condition.batch,
        "rounds": one.rounds,
        "ratio": one.ratio,
        "low": one.low,
        "high": one.high,
        "floor_pct": one.floor_pct,
        "differs": one.differs,
    }


def control_json(one: ControlResult) -> ControlJson:
    return {
        "depth": one.condition.depth,
        "batch": one.condition.batch,
        "rounds": one.rounds,
        "per_call_ms": one.per_call_ms,
        "calls_per_token": one.calls_per_token,
        "planted_ms": one.planted_ms,
        "baseline_ms": one.baseline_ms,
        "found_ms": one.found_ms,
        "low_ms": one.low_ms,
        "high_ms": one.high_ms,
        "level": one.level,
        "outcome": one.outcome.value,
    }


def last_json(one: LastControl) -> LastControlJson:
    return {
        "kind": one.kind,
        "run": one.run,
        "created": one.created,
        "noise_floor": [floor_json(inner) for inner in one.floor],
        "control": [control_json(inner) for inner in one.control],
    }

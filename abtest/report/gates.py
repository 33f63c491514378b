"""Gates under the table, and as JSON: each look with its limits and its level, then what it came to."""

from abtest.model.gate import GateResult, Look
from abtest.report import figures
from abtest.report.jsontypes import GateJson
from abtest.report.neutralise import neutral

LEVELS = (
    "Gates are looked at after 4, 6 and 8 rounds; the level per look keeps the chance of a wrong pass, and that of a "
    "wrong failure, at 5 % over all looks."
)


def lines(results: tuple[GateResult, ...]) -> tuple[str, ...]:
    """Write one line per gate and cell, one below it per look, and what the levels mean."""
    return (*(line for one in results for line in _lines(one)), *((LEVELS,) if results else ()))


def _lines(one: GateResult) -> tuple[str, ...]:
    head = f"gate {one.gate} at {one.cell}: {one.decision.value} ({one.why})"
    return (
        neutral(head),
        *(f"  look {place} {_look(look)}" for place, look in enumerate(one.looks, start=1)),
    )


def _look(look: Look) -> str:
    level = f"one-sided level {100 * look.level:.2f} % per look"
    if look.ratio is None or look.low is None or look.high is None:
        return neutral(f"at n = {look.rounds}: no limits, {look.note}")
    digits = max(3, figures.ratio_digits(look.ratio))
    limits = f"limits [{look.low:.{digits}f}, {look.high:.{digits}f}]"
    note = f"; {look.note}" if look.note else ""
    return f"at n = {look.rounds}: ratio {look.ratio:.{digits}f}, {limits}, {level}{note}"


def as_json(one: GateResult) -> GateJson:
    return {
        "gate": str(one.gate),
        "arm": one.cell.arm,
        "depth": one.cell.condition.depth,
        "batch": one.cell.condition.batch,
        "ratio": one.gate.ratio,
        "decision": one.decision.value,
        "why": one.why,
        "rounds": one.rounds,
        "looks": [
            {
                "rounds": look.rounds,
                "ratio": look.ratio,
                "low": look.low,
                "high": look.high,
                "level": look.level,
                "note": look.note,
            }
            for look in one.looks
        ],
    }

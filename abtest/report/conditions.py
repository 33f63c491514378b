"""One row per condition and candidate, both arms side by side: what a reviewer reads first."""

from dataclasses import dataclass

from abtest.model.names import Cell
from abtest.model.result import CellSummary, Effect, Summary, Verdict
from abtest.report.figures import DASH
from abtest.report.view import CellRow, EffectRow, View, has_ratio

CLAIMS = frozenset({Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT})

SIMULATED = "simulated"  # nothing was measured, so nothing is claimed


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """One effect with the cells it rests on, as strings; names are not escaped for any format yet.

    Args:
        old: the baseline's cell.
        new: the candidate's cell.
        claimed: whether the rounds carry the ratio; where not, it may stand in brackets at most.
        shown: whether there is a ratio to show at all.
        verdict: of the effect; of a simulated run it says only that.
        voids: of the baseline and of the candidate.
    """

    effect: EffectRow
    old: CellRow
    new: CellRow
    claimed: bool
    shown: bool
    verdict: str
    voids: str


def conditions(summary: Summary, shown: View) -> tuple[ConditionRow, ...]:
    """Join each effect's row with the rows of its two cells."""
    rows = {cell.cell: (cell, row) for cell, row in zip(summary.cells, shown.cells, strict=True)}
    return tuple(
        _row(effect, text, rows, simulated=SIMULATED in summary.isolation)
        for effect, text in zip(summary.effects, shown.effects, strict=True)
    )


def _row(
    effect: Effect,
    text: EffectRow,
    rows: dict[Cell, tuple[CellSummary, CellRow]],
    *,
    simulated: bool,
) -> ConditionRow:
    old, old_text = rows[Cell(effect.baseline, effect.condition)]
    new, new_text = rows[Cell(effect.candidate, effect.condition)]
    shown = has_ratio(effect)
    return ConditionRow(
        effect=text,
        old=old_text,
        new=new_text,
        claimed=shown and effect.verdict in CLAIMS and not simulated,
        shown=shown,
        verdict=SIMULATED if simulated else text.verdict,
        voids="0" if not old.voids + new.voids else f"{old.voids} / {new.voids}",
    )


def speedup(row: ConditionRow) -> str:
    """Write the ratio, in brackets where it was observed and is not claimed."""
    if not row.shown:
        return DASH
    text = row.effect.speedup
    return text if row.claimed else f"({text.replace(' (', '; ').rstrip(')')})"

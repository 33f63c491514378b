"""A summary for spreadsheets: one row per cell, its effect beside it, numbers in full and text that cannot be a formula."""

import csv
import io
from collections.abc import Iterator

from abtest.model.names import Cell
from abtest.model.result import CellSummary, Effect, Summary
from abtest.report.neutralise import neutral
from abtest.report.view import has_ratio

FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "'",
    "\uff1d",
    "\uff0b",
    "\uff0d",
    "\uff20",
)  # first characters at which a spreadsheet reads more than text
HEAD = (
    "run", "experiment", "isolation", "identity", "arm", "depth", "batch", "n", "voids", "mean_tok_s", "ms_per_token",
    "spread_pct", "gate_pct", "leverage", "within_se_pct", "flags", "baseline", "speedup", "interval_low",
    "interval_high", "interval_level", "interval_method", "basis", "basis_speedup", "verdict", "effect_flags",
)  # fmt: skip
Value = str | float | int | None


def render(summary: Summary) -> str:
    """Write the summary; the last columns are the rates by round, in time order."""
    most = max((cell.n for cell in summary.cells), default=0)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow((*HEAD, *(f"rate_{place}_tok_s" for place in range(1, most + 1))))
    effects = {Cell(one.candidate, one.condition): one for one in summary.effects}
    for cell in summary.cells:
        values = (*_cell(summary, cell), *_effect(summary, effects.get(cell.cell)))
        writer.writerow(
            [_safe(value) for value in values]
            + [*cell.rates_tok_s]
            + [""] * (most - len(cell.rates_tok_s))
        )
    return buffer.getvalue()


def _cell(summary: Summary, cell: CellSummary) -> Iterator[Value]:
    yield from (summary.run, summary.experiment, summary.isolation, summary.identity, cell.cell.arm)
    yield from (cell.cell.condition.depth, cell.cell.condition.batch, cell.n, cell.voids)
    yield from (cell.mean_tok_s, cell.ms_per_token, cell.spread_pct, cell.gate_pct)
    yield from (cell.leverage, cell.within_se_pct, " ".join(flag.name for flag in cell.flags))


def _effect(summary: Summary, effect: Effect | None) -> Iterator[Value]:
    """Give the candidate's effect; nothing for the baseline, and no ratio that may not be shown."""
    if effect is None:
        yield from [None] * 10
        return
    interval = effect.interval if has_ratio(effect) else None
    yield effect.baseline
    yield effect.speedup if has_ratio(effect) else None
    if interval is None:
        yield from [None] * 4
    else:
        yield from (interval.low, interval.high, interval.level, interval.method)
    yield from (
        effect.basis,
        effect.basis_speedup if has_ratio(effect) else None,
        effect.verdict.value,
    )
    yield " ".join(flag.name for flag in (*summary.flags, *effect.flags))


def _safe(value: Value) -> Value:
    """Put a quotation mark before text that a spreadsheet would run; a number stays a number."""
    if not isinstance(value, str):
        return value
    shown = neutral(value)
    return f"'{shown}" if shown.lstrip().startswith(FORMULA) else shown

"""Whether the kernels of a decode step account for its time, from profiles taken after the measurement.

A profiled request is not a timed one, so only large gaps are called: a step that is mostly something else than
kernels, or one that grows with depth by another amount than its kernels do.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from abtest.analysis.differential import estimate
from abtest.analysis.explain import flag
from abtest.model.flag import Flag
from abtest.model.names import Cell
from abtest.model.trial import TrialRecord

LEAST_SHARE = 0.5  # below it a step is mostly not kernels
LEAST_GROWTH_SHARE = (
    0.2  # growth of a step, of the deeper step, from which its kernels must account for it
)
GROWTH_TOLERANCE = 0.25  # kernels may grow by this much less or more than the step does
MS_PER_S = 1000.0


def kernel_ms(record: TrialRecord) -> float | None:
    """Sum the kernels of one step, in the rank where they take longest; None without a profile."""
    per_rank: dict[int, float] = defaultdict(float)
    for row in record.kernels:
        per_rank[row.rank] += row.ms_per_step
    return max(per_rank.values(), default=None)


def step_ms(record: TrialRecord) -> float | None:
    """Take the time of one decode step: by stamps where there are any, else by the differential."""
    if record.token_s_per_token:
        return MS_PER_S * statistics.median(record.token_s_per_token)
    rate = estimate(record).rate_tok_s
    return None if rate is None else MS_PER_S / rate


def of_conditions(records: Sequence[TrialRecord]) -> Iterator[Flag]:
    """Find conditions at which some arm's step is not explained by its kernels, each at most once."""
    figures = _figures(records)
    bound = {
        cell: f"{cell.arm}: kernels {busy:.2f} of {step:.2f} ms per step"
        for cell, (busy, step) in figures.items()
        if busy < LEAST_SHARE * step
    }
    for shallow, deep in _neighbours(figures):
        busy = figures[deep][0] - figures[shallow][0]
        step = figures[deep][1] - figures[shallow][1]
        if step > LEAST_GROWTH_SHARE * figures[deep][1] and abs(busy / step - 1) > GROWTH_TOLERANCE:
            text = (
                f"{deep.arm}, from {shallow.condition}: step {step:+.2f} ms, kernels {busy:+.2f} ms"
            )
            bound.setdefault(deep, text)
    for condition in sorted({cell.condition for cell in bound}):
        texts = [text for cell, text in bound.items() if cell.condition == condition]
        yield flag("host-bound", str(condition), "; ".join(texts))


def _figures(records: Sequence[TrialRecord]) -> Mapping[Cell, tuple[float, float]]:
    per_cell: dict[Cell, list[tuple[float, float]]] = defaultdict(list)
    for record in records:
        busy = kernel_ms(record) if record.kernels else None
        step = None if busy is None else step_ms(record)
        if busy is not None and step is not None:
            per_cell[record.cell].append((busy, step))
    return {
        cell: (statistics.median(b for b, _ in found), statistics.median(s for _, s in found))
        for cell, found in per_cell.items()
    }


def _neighbours(figures: Mapping[Cell, object]) -> Iterator[tuple[Cell, Cell]]:
    """Pair each cell with the next deeper one of the same arm and batch."""
    lines: dict[tuple[str, int], list[Cell]] = defaultdict(list)
    for cell in figures:
        lines[cell.arm, cell.condition.batch].append(cell)
    for line in lines.values():
        yield from pairwise(sorted(line, key=lambda cell: cell.condition.depth))

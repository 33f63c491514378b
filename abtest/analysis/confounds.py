"""Does the rate follow the machine? Correlations over trials, within cells, with n; told only when strong.

Arms and depths differ in rate by design, so each cell's own mean is taken away first; that costs one degree of
freedom per cell. A correlation is strong when it explains half of the scatter (|r| >= 0.7) and would come by chance
less than once in a hundred runs, shared among the quantities that are looked at (Bonferroni).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from abtest.analysis import moments
from abtest.analysis.explain import flag
from abtest.model.flag import Flag
from abtest.model.names import Cell
from abtest.model.result import CellSummary
from abtest.model.trial import TrialRecord

STRONG = 0.7
BY_CHANCE = 0.01
LEAST_DEGREES = 3
ROUNDING = 1e-12  # of the sum of squares: a mean of equal numbers may be off by its last digit


def _phase(name: str) -> Callable[[TrialRecord], float | None]:
    def read(record: TrialRecord) -> float | None:
        seen = record.telemetry
        return None if seen is None else seen.phases.get("decode", {}).get(name)

    return read


def _figure(name: str) -> Callable[[TrialRecord], float | None]:
    def read(record: TrialRecord) -> float | None:
        seen = record.telemetry
        return None if seen is None else seen.figures.get(name)

    return read


QUANTITIES: Mapping[str, Callable[[TrialRecord], float | None]] = {
    "core clock of the card": _phase("sm_mhz"),
    "temperature of the card": _phase("temp_c"),
    "clock of the processor": _figure("cpu_mhz"),
    "load of other processes": _figure("other_cores"),
    "slot in the block": lambda record: float(record.slot),
}


def correlations(
    records: Sequence[TrialRecord], cells: Mapping[Cell, CellSummary]
) -> Iterator[Flag]:
    """Find the quantities that the rates of a run follow.

    Args:
        records: counted ones, in time order.
        cells: their summaries, whose rates stand in the same order.
    """
    groups = list(_groups(records, cells))
    strong = []
    for name, read in QUANTITIES.items():
        points = [
            [(log, value) for record, log in group if (value := read(record)) is not None]
            for group in groups
        ]
        found = within_groups([group for group in points if group])
        if found is not None and _is_strong(*found):
            strong.append(f"{name}: r = {found[0]:+.2f} (n = {sum(map(len, points))})")
    if strong:
        yield flag("follows-machine", "run", "; ".join(strong))


def _groups(
    records: Sequence[TrialRecord], cells: Mapping[Cell, CellSummary]
) -> Iterator[list[tuple[TrialRecord, float]]]:
    """Pair the watched trials of each cell with the logs of their rates; a cell that lost a rate is left out."""
    members: dict[tuple[str, int, int], list[TrialRecord]] = defaultdict(list)
    for record in records:
        members[record.arm, record.depth, record.batch].append(record)
    for cell, summary in cells.items():
        own = members[cell.arm, cell.condition.depth, cell.condition.batch]
        if len(own) == len(summary.rates_tok_s):
            pairs = zip(own, map(math.log, summary.rates_tok_s), strict=True)
            yield [pair for pair in pairs if pair[0].telemetry is not None]


def within_groups(groups: Sequence[Sequence[tuple[float, float]]]) -> tuple[float, int] | None:
    """Correlate two quantities after taking away each group's means; returns r and its degrees of freedom.

    None where there are too few points, or one quantity does not change.
    """
    degrees = sum(map(len, groups)) - len(groups) - 1
    if degrees < LEAST_DEGREES or len({y for group in groups for _, y in group}) == 1:
        return None
    xs: list[float] = []
    ys: list[float] = []
    for group in groups:
        centers = [moments.mean([one[axis] for one in group]) for axis in (0, 1)]
        xs += [x - centers[0] for x, _ in group]
        ys += [y - centers[1] for _, y in group]
    sxx, syy = (math.fsum(one * one for one in values) for values in (xs, ys))
    size = math.fsum(y * y for group in groups for _, y in group)
    if not sxx or syy <= ROUNDING * size:
        return None
    return math.fsum(x * y for x, y in zip(xs, ys, strict=True)) / math.sqrt(sxx * syy), degrees


def _is_strong(r: float, degrees: int) -> bool:
    if abs(r) < STRONG:
        return False
    if abs(r) >= 1:
        return True
    from scipy import stats

    t = abs(r) * math.sqrt(degrees / (1 - r * r))
    return bool(2 * stats.t.sf(t, degrees) < BY_CHANCE / len(QUANTITIES))

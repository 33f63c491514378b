"""Does the rate follow the machine? Correlations over trials, within cells, with n; told only when strong.

Arms and depths differ in rate by design, so each cell's own mean is taken away first; that costs one degree of
freedom per cell. A correlation is strong when it explains half of the scatter (|r| >= 0.7) and would come by chance
less than once in a hundred runs, shared among the quantities that are looked at (Bonferroni).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from abtest.analysis import moments
from abtest.analysis.differential import estimate
from abtest.analysis.explain import flag
from abtest.model.flag import Flag
from abtest.model.names import Cell
from abtest.model.trial import TrialRecord

STRONG = 0.7
BY_CHANCE = 0.01
LEAST_DEGREES = 3


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


def correlations(records: Sequence[TrialRecord]) -> Iterator[Flag]:
    """Find the quantities that the rates of a run follow."""
    if not any(record.telemetry is not None for record in records):
        return
    rates = [estimate(record).rate_tok_s for record in records]
    strong = []
    for name, read in QUANTITIES.items():
        points = [
            (record.cell, math.log(rate), value)
            for record, rate in zip(records, rates, strict=True)
            if rate is not None and (value := read(record)) is not None
        ]
        found = within_cells(points)
        if found is not None and _is_strong(*found):
            strong.append(f"{name}: r = {found[0]:+.2f} (n = {len(points)})")
    if strong:
        yield flag("follows-machine", "run", "; ".join(strong))


def within_cells(points: Sequence[tuple[Cell, float, float]]) -> tuple[float, int] | None:
    """Correlate two quantities after taking away each cell's means; returns r and its degrees of freedom.

    None where there are too few points, or one quantity does not change.
    """
    groups: dict[Cell, list[tuple[float, float]]] = defaultdict(list)
    for cell, x, y in points:
        groups[cell].append((x, y))
    xs: list[float] = []
    ys: list[float] = []
    for members in groups.values():
        centers = [moments.mean([one[axis] for one in members]) for axis in (0, 1)]
        xs += [x - centers[0] for x, _ in members]
        ys += [y - centers[1] for _, y in members]
    degrees = len(points) - len(groups) - 1
    sxx, syy = (math.fsum(one * one for one in values) for values in (xs, ys))
    if degrees < LEAST_DEGREES or not sxx or not syy:
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

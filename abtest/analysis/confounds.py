"""Does the rate follow the machine? Correlations over trials, within cells, with n; told only when strong.

Arms and depths differ in rate by design, so each cell's own mean is taken away first; that costs one degree of
freedom per cell. A correlation is strong when it explains half of the scatter (|r| >= 0.7) and would come by chance
less than once in a hundred runs, shared among the quantities that are looked at (Bonferroni).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from abtest.analysis import moments
from abtest.analysis.counting import Counted
from abtest.analysis.explain import flag
from abtest.model.flag import Flag
from abtest.model.names import Cell
from abtest.model.result import CellSummary

STRONG = 0.7
BY_CHANCE = 0.01
LEAST_DEGREES = 3
ROUNDING = 1e-12  # of the sum of squares: a mean of equal numbers may be off by its last digit


Figures = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class _Group:
    """The watched trials of one cell: each list has one entry per trial, in time order, or none where nothing was read.

    Args:
        logs: of the rates.
        decode: the figures of the decode phase.
        whole: the figures of the whole trial.
    """

    logs: Sequence[float]
    decode: Sequence[Figures]
    whole: Sequence[Figures]
    slots: Sequence[int]


def _phase(name: str) -> Callable[[_Group], Sequence[float | None]]:
    return lambda group: [figures.get(name) for figures in group.decode]


def _figure(name: str) -> Callable[[_Group], Sequence[float | None]]:
    return lambda group: [figures.get(name) for figures in group.whole]


QUANTITIES: Mapping[str, Callable[[_Group], Sequence[float | None]]] = {
    "core clock of the card": _phase("sm_mhz"),
    "temperature of the card": _phase("temp_c"),
    "clock of the processor": _figure("cpu_mhz"),
    "load of other processes": _figure("other_cores"),
    "slot in the block": lambda group: group.slots,
}


def correlations(counted: Counted, cells: Mapping[Cell, CellSummary]) -> Iterator[Flag]:
    """Find the quantities that the rates of a run follow.

    Args:
        cells: the summaries of the counted records, whose rates stand in the same order.
    """
    groups = list(_groups(counted, cells))
    strong = []
    for name, read in QUANTITIES.items():
        points = [
            [
                (log, value)
                for log, value in zip(group.logs, values, strict=True)
                if value is not None
            ]
            for group in groups
            if (values := read(group))
        ]
        found = within_groups([group for group in points if group])
        if found is not None and _is_strong(*found):
            strong.append(f"{name}: r = {found[0]:+.2f} (n = {sum(map(len, points))})")
    if strong:
        yield flag("follows-machine", "run", "; ".join(strong))


def _groups(counted: Counted, cells: Mapping[Cell, CellSummary]) -> Iterator[_Group]:
    """Gather the watched trials of each cell; a cell that lost a rate is left out."""
    nothing: Figures = {}
    for cell, summary in cells.items():
        own = counted.by_cell.get(cell, ())
        if len(own) == len(summary.rates_tok_s):
            telemetry = [record.telemetry for record in own]
            watched = [one is not None for one in telemetry]
            known = [one for one in telemetry if one is not None]
            decode = [one.phases.get("decode", nothing) for one in known]
            whole = [one.figures for one in known]
            yield _Group(
                logs=list(map(math.log, compress(summary.rates_tok_s, watched))),
                decode=decode if any(decode) else (),
                whole=whole if any(whole) else (),
                slots=list(compress(summary.slots, watched)),
            )


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
    from scipy.special import stdtr

    t = abs(r) * math.sqrt(degrees / (1 - r * r))
    return 2 * float(stdtr(degrees, -t)) < BY_CHANCE / len(QUANTITIES)

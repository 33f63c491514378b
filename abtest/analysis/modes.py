"""Two modes in one cell: the gap-versus-range rule.

The largest gap between sorted values, with two or more values on each side, as a share of the range. Under a
uniform null the shares of the spacings are Dirichlet, so its tail is known exactly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

LEAST_PER_SIDE = 2  # one value alone is an outlier, not a mode
HALF_OF_RANGE = 0.5  # the published rule, used at n = 4 and 5, printed with its p
CRITICAL_P = 0.10  # uniform null; 4-5 % for a normal one at n >= 6
CRITICAL = {6: 0.573, 7: 0.522, 8: 0.479, 9: 0.443, 10: 0.412, 11: 0.385, 12: 0.362}
LEAST_SEPARATION_PCT = 5.0  # of the mean: modes closer than this are noise for any user


@dataclass(frozen=True, slots=True)
class Gap:
    """The largest interior gap of a list.

    Args:
        share: gap over range, 0 where there is none.
        below: how many values lie below it.
        width_pct: the gap in per cent of the mean.
        p: chance of such a share or a larger one under a uniform null.
    """

    share: float
    below: int
    width_pct: float
    p: float


def largest_gap(values: Sequence[float]) -> Gap | None:
    """Find the gap; None where the list is too short or has no range."""
    ordered = sorted(values)
    count = len(ordered)
    span = ordered[-1] - ordered[0] if ordered else 0.0
    if count < 2 * LEAST_PER_SIDE or span == 0:
        return None
    below = max(
        range(LEAST_PER_SIDE, count - LEAST_PER_SIDE + 1),
        key=lambda place: ordered[place] - ordered[place - 1],
    )
    width = ordered[below] - ordered[below - 1]
    mean = sum(ordered) / count
    return Gap(width / span, below, 100 * width / mean, p_gap(width / span, count))


def p_gap(share: float, count: int) -> float:
    """Compute the exact tail of the gap share under a uniform null.

    >>> round(p_gap(0.620677, 4), 6)
    0.143886
    """
    gaps = count - 1 - 2 * (LEAST_PER_SIDE - 1)
    if gaps < 1:
        return 1.0
    terms: Iterator[float] = (
        (-1.0) ** (j + 1) * comb(gaps, j) * max(0.0, 1 - j * share) ** (count - 2)
        for j in range(1, gaps + 1)
    )
    return min(1.0, sum(terms))


@cache
def critical_share(count: int) -> float:
    """Give the share from which two modes are called: the rounded table to 12, its formula beyond."""
    if count in CRITICAL:
        return CRITICAL[count]
    return exact_critical_share(count)


@cache
def exact_critical_share(count: int) -> float:
    """Solve p_gap(share) = 0.10 by bisection; the tail falls with the share."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if p_gap(middle, count) > CRITICAL_P else (low, middle)
    return high

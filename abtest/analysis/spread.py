"""The spread gate: how far rounds may lie apart before the cell needs a second look.

The published cut is 6 % of the mean at two rounds. Ranges grow with n, so the gate is scaled by the 95 %
point of the range of n normal values (the studentized range with infinite degrees of freedom).
"""

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist

PUBLISHED_CUT_PCT = 6.0
GATE_PCT = {
    2: 6.0,
    3: 7.2,
    4: 7.9,
    5: 8.4,
    6: 8.7,
    7: 9.0,
    8: 9.3,
    9: 9.5,
    10: 9.7,
    11: 9.8,
    12: 10.0,
}
TOLERANCE_PCT = 1e-9  # a spread that is exactly the gate must not fail by rounding
QUANTILE = 0.95
# The range of two is the size of their difference, which is normal with sqrt 2 of the deviation: no search is needed.
RANGE_OF_TWO = math.sqrt(2) * NormalDist().inv_cdf((1 + QUANTILE) / 2)
STEP = 0.025  # of the quadrature; four digits do not change below it


def spread_pct(values: Sequence[float]) -> float | None:
    """Compute 100 * (max - min) / mean; None for fewer than two values.

    >>> round(spread_pct([37.03973, 37.75778]), 2)
    1.92
    """
    if len(values) < 2:  # noqa: PLR2004 - a spread needs two
        return None
    return 100 * (max(values) - min(values)) / (sum(values) / len(values))


@cache
def gate_pct(count: int) -> float:
    """Give the spread that `count` rounds may show: the rounded table to 12, its formula beyond."""
    if count in GATE_PCT:
        return GATE_PCT[count]
    return exact_gate_pct(count)


@cache
def exact_gate_pct(count: int) -> float:
    """Scale the published cut by the 95 % points of the range of `count` and of two normal values.

    >>> round(exact_gate_pct(4), 3)
    7.865
    """
    return PUBLISHED_CUT_PCT * _range_quantile(count) / RANGE_OF_TWO


def _range_quantile(count: int) -> float:
    """Find the width within which `count` standard normals lie with that chance.

    P(range <= w) is an integral over the largest, at z, with all others within w below it. The integrand vanishes
    with all its derivatives at both ends, so plain sums converge fast.
    """
    normal = NormalDist()
    points = [index * STEP for index in range(round(-8.5 / STEP), round(8.5 / STEP) + 1)]
    largest = [(z, normal.cdf(z), STEP * count * normal.pdf(z)) for z in points]
    low, high = 0.0, 20.0
    for _ in range(50):
        width = (low + high) / 2
        within = math.fsum(
            weight * (below - normal.cdf(z - width)) ** (count - 1) for z, below, weight in largest
        )
        low, high = (width, high) if within < QUANTILE else (low, width)
    return high


def within_gate(values: Sequence[float]) -> bool:
    """Tell whether values lie close enough; fewer than two always do."""
    spread = spread_pct(values)
    return spread is None or spread <= gate_pct(len(values)) + TOLERANCE_PCT

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
    return PUBLISHED_CUT_PCT * _range_quantile(count) / _range_quantile(2)


@cache
def _range_quantile(count: int) -> float:
    low, high = 0.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _range_cdf(middle, count) < QUANTILE else (low, middle)
    return high


def _range_cdf(width: float, count: int) -> float:
    """P(range of `count` standard normals <= width): the largest at z, all others within `width` below.

    The integrand vanishes with all its derivatives at both ends, so plain sums converge fast.
    """
    normal = NormalDist()
    points = (index * STEP for index in range(round(-8.5 / STEP), round(8.5 / STEP) + 1))
    return STEP * math.fsum(
        count * normal.pdf(z) * (normal.cdf(z) - normal.cdf(z - width)) ** (count - 1)
        for z in points
    )


def within_gate(values: Sequence[float]) -> bool:
    """Tell whether values lie close enough; fewer than two always do."""
    spread = spread_pct(values)
    return spread is None or spread <= gate_pct(len(values)) + TOLERANCE_PCT

"""The spread gate: how far rounds may lie apart before the cell needs a second look.

The published cut is 6 % of the mean at two rounds. Ranges grow with n, so the gate is scaled by the 95 %
point of the range of n normal values (the studentized range with infinite degrees of freedom).
"""

from collections.abc import Sequence
from functools import cache

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
TOLERANCE_PCT = 1e-9


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
    """Scale the published cut by the 95 % points of the range of `count` and of two normal values."""
    from scipy.stats import studentized_range

    points = (float(studentized_range.ppf(0.95, n, 1e6)) for n in (count, 2))
    return PUBLISHED_CUT_PCT * next(points) / next(points)


def within_gate(values: Sequence[float]) -> bool:
    """Tell whether values lie close enough; fewer than two always do."""
    spread = spread_pct(values)
    return spread is None or spread <= gate_pct(len(values)) + TOLERANCE_PCT

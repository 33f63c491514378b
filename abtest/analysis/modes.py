"""Two modes in one cell: the gap-versus-range rule.

The largest gap between sorted values, with two or more values on each side, as a share of the range. Under a
uniform null the shares of the spacings are Dirichlet, so its tail is known exactly (inclusion and exclusion).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

LEAST_PER_SIDE = 2  # one value alone is an outlier, not a mode
HALF_OF_RANGE = 0.5  # the published rule, used at n = 4 and 5, printed with its p
CRITICAL_P = 0.10  # uniform null; 4-5 % for a normal one at n >= 6
CRITICAL = {6: 0.573, 7: 0.522, 8: 0.479, 9: 0.443, 10: 0.412, 11: 0.385, 12: 0.362}
CERTAIN = 20.0  # expected number of such gaps: p differs from 1 by e^-20, and the sum would only lose digits
NEGLIGIBLE = 1e-18
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
    total, first = 0.0, gaps * max(0.0, 1 - share) ** (count - 2)
    if first > CERTAIN:
        return 1.0
    for j in range(1, gaps + 1):
        if j * share >= 1:
            break
        term = comb(gaps, j) * (1 - j * share) ** (count - 2)
        total += term if j % 2 else -term
        if term < NEGLIGIBLE:
            break
    return min(1.0, max(0.0, total))


def p_gap_normal(share: float) -> float:
    """Compute the exact tail of the gap share for four values under a normal null.

    Four normal values without their mean point in a direction that is uniform on a sphere. Sorted, they fill
    1/24 of it; those with a middle gap of `share` or more fill a spherical triangle, whose corners are all
    gap, and gap with one outer spacing. Its area is by van Oosterom and Strackee (1983).

    >>> round(p_gap_normal(0.5), 6)
    0.191306
    """
    corners = ((0.0, 1.0, 0.0), (1 - share, share, 0.0), (0.0, share, 1 - share))
    a, b, c = (_centered(spacings) for spacings in corners)
    ab, ac, bc = _dot(a, b), _dot(a, c), _dot(b, c)
    aa, bb, cc = _dot(a, a), _dot(b, b), _dot(c, c)
    volume = math.sqrt(
        max(0.0, aa * bb * cc + 2 * ab * ac * bc - aa * bc**2 - bb * ac**2 - cc * ab**2)
    )
    la, lb, lc = math.sqrt(aa), math.sqrt(bb), math.sqrt(cc)
    area = 2 * math.atan2(volume, la * lb * lc + ab * lc + ac * lb + bc * la)
    return area / (math.pi / 6)  # 1/24 of the sphere


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def _centered(spacings: Sequence[float]) -> tuple[float, ...]:
    values = tuple(sum(spacings[:place]) for place in range(len(spacings) + 1))
    middle = math.fsum(values) / len(values)
    return tuple(value - middle for value in values)


def unseen_p(count: int, share: float = 0.5) -> float:
    """Compute the chance that `count` rounds all fall into one of two modes, `share` of starts in one of them."""
    return float(share**count + (1 - share) ** count)


@cache
def critical_share(count: int) -> float:
    """Give the share from which two modes are called: the rounded table to 12, its formula beyond."""
    if count in CRITICAL:
        return CRITICAL[count]
    return exact_critical_share(count)


@cache
def exact_critical_share(count: int) -> float:
    """Solve p_gap(share) = 0.10 by bisection; the tail falls with the share.

    The union bound, gaps * (1 - share)^(count - 2), brackets the root where the alternating sum is stable.
    """
    gaps = count - 1 - 2 * (LEAST_PER_SIDE - 1)
    low, high = (
        1 - math.pow(bound / gaps, 1 / (count - 2)) for bound in (min(1.0, gaps), CRITICAL_P)
    )
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if p_gap(middle, count) > CRITICAL_P else (low, middle)
    return high

"""Tails of the F and t distributions, from the incomplete beta function (DLMF 8.17).

scipy has them too, and takes a third of a second to load: as long as 7 000 records. The tests hold these against it.
"""

import math
from functools import cache
from statistics import NormalDist

CLOSE = 1e-15  # relative; the last bit of a float is 1e-16
STEPS = 10_000  # of a continued fraction; it needs about the square root of its larger parameter
MANY = 1e7  # degrees of freedom, from which two terms of Fisher's expansion suffice
TINY = 1e-300


def f_tail(ratio: float, above: float, below: float) -> float:
    """Give the chance of an F ratio that is at least so large, with degrees of freedom above and below the line.

    >>> round(f_tail(4.26, 2, 9), 3)
    0.05
    """
    if ratio <= 0:
        return 1.0
    scaled = above * ratio
    if math.isinf(scaled):
        return 0.0
    return _beta_share(below / 2, above / 2, below / (below + scaled), scaled / (below + scaled))


def t_tail(t: float, degrees: float) -> float:
    """Give the chance that Student's t is at least so large, for t >= 0.

    >>> round(t_tail(2.2281, 10), 4)
    0.025
    """
    return f_tail(t * t, 1, degrees) / 2


@cache
def t_quantile(degrees: float, level: float) -> float:
    """Give Student's t at a level above one half; degrees may be broken (Welch).

    The distribution bends down above zero, so Newton's steps from the normal quantile never pass the answer.

    >>> round(t_quantile(10, 0.975), 4)
    2.2281
    """
    t = NormalDist().inv_cdf(level)
    if degrees >= MANY:  # what is left out is less than the noise of the logarithms below
        return t + (t**3 + t) / (4 * degrees)
    half = (degrees + 1) / 2
    scale = math.exp(math.lgamma(half) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    for _ in range(STEPS):
        density = scale * math.exp(-half * math.log1p(t * t / degrees))
        step = (t_tail(t, degrees) - (1 - level)) / density
        t += step
        if not step > CLOSE * t:
            break  # a step back is the last bits' noise; degrees that are no number end here too
    return t


def _beta_share(a: float, b: float, x: float, rest: float) -> float:
    """Compute the regularised incomplete beta function I_x(a, b); `rest` is 1 - x, which may be too small to subtract."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logs + a * math.log(x) + b * math.log(rest))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, rest) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Sum the continued fraction 8.17.22 by Lentz's method, which keeps only ratios of neighbours."""
    upper, lower = 1.0, _inverse(1 - (a + b) * x / (a + 1))
    value = lower
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            lower = _inverse(1 + term * lower)
            upper = 1 + term / (upper or TINY)
            change *= upper * lower
        value *= change
        if not abs(change - 1) >= CLOSE:
            break
    return value


def _inverse(value: float) -> float:
    return 1 / (value or TINY)

"""Mean and standard deviation by compensated sums: exact enough, and fast enough for 100 000 trials."""

import math
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    """Compute the arithmetic mean of one value or more."""
    return math.fsum(values) / len(values)


def median(values: Sequence[float]) -> float:
    """Compute the median of one value or more."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def variance(values: Sequence[float], center: float | None = None) -> float:
    """Compute the sample variance (n - 1) of two values or more, around the mean: no cancellation.

    Args:
        center: their mean, where it is known already.
    """
    middle = mean(values) if center is None else center
    rest = [value - middle for value in values]
    # A product is rounded rightly everywhere, a power only nearly so.
    return math.fsum([one * one for one in rest]) / (len(values) - 1)


def deviation(values: Sequence[float], center: float | None = None) -> float:
    """Compute the sample standard deviation of two values or more.

    >>> round(deviation([1.20, 1.22, 1.21]), 4)
    0.01
    """
    return math.sqrt(variance(values, center))


def standard_error(values: Sequence[float]) -> float:
    """Compute the standard error of the mean of two independent values or more."""
    return deviation(values) / math.sqrt(len(values))


def harmonic(rates: Sequence[float]) -> float:
    """Compute the rate that belongs to the mean time per token."""
    return 1 / mean([1 / rate for rate in rates])

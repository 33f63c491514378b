"""A trend over rounds: Kendall's S, the number of rising minus falling pairs in time order."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import factorial
from statistics import NormalDist

LEAST_ROUNDS = 5  # at four rounds even a strict order has p = 0.083
LIMIT = {5: 10, 6: 13, 7: 15, 8: 18, 9: 20, 10: 23, 11: 27, 12: 30}
LIMIT_P = 0.05  # two-sided
EXACT_TO = 40  # rounds; beyond, the normal limit is right to a step of S (Kendall 1970)


def kendall_s(values: Sequence[float]) -> int:
    """Count rising pairs minus falling pairs, in n log n steps.

    >>> kendall_s([100, 97, 94, 91, 88])
    -10
    """
    count = len(values)
    ties = sum(number * (number - 1) // 2 for number in Counter(values).values())
    falling = _sorted_and_inversions(list(values))[1]
    return count * (count - 1) // 2 - ties - 2 * falling


def _sorted_and_inversions(values: list[float]) -> tuple[list[float], int]:
    """Merge sort that counts the pairs in which the earlier value is strictly larger."""
    if len(values) <= 1:
        return values, 0
    half = len(values) // 2
    left, inside_left = _sorted_and_inversions(values[:half])
    right, inside_right = _sorted_and_inversions(values[half:])
    merged: list[float] = []
    place, found = 0, inside_left + inside_right
    for value in right:
        after = bisect_right(left, value, place)
        merged += left[place:after]
        merged.append(value)
        place = after
        found += len(left) - after
    return merged + left[place:], found


def is_monotone(values: Sequence[float]) -> bool:
    count = len(values)
    return abs(kendall_s(values)) == count * (count - 1) // 2


@cache
def _distribution(count: int) -> tuple[int, ...]:
    """Count the orders of `count` values by their number of inversions."""
    ways = [1]
    for size in range(2, count + 1):
        longer = [0] * (len(ways) + size - 1)
        for inversions, number in enumerate(ways):
            for more in range(size):
                longer[inversions + more] += number
        ways = longer
    return tuple(ways)


def kendall_p(s: int, count: int) -> float:
    """Compute the two-sided p of |S|, without ties: exact to 40 rounds, normal with continuity beyond.

    >>> round(kendall_p(18, 8), 6)
    0.031151
    """
    if count > EXACT_TO:
        return min(1.0, 2 * (1 - NormalDist().cdf((abs(s) - 1) / _deviation(count)))) if s else 1.0
    pairs = count * (count - 1) // 2
    ways = _distribution(count)
    tail = sum(number for inversions, number in enumerate(ways) if pairs - 2 * inversions >= abs(s))
    return min(1.0, 2 * tail / factorial(count)) if s else 1.0


@cache
def limit(count: int) -> int:
    """Give the |S| from which a trend is called: the table to 12, the exact distribution beyond."""
    if count in LIMIT:
        return LIMIT[count]
    return exact_limit(count)


@cache
def exact_limit(count: int) -> int:
    """Find the smallest |S| with p <= 0.05 that `count` rounds can show; |S| moves in steps of two."""
    pairs = count * (count - 1) // 2
    if count > EXACT_TO:
        least = math.ceil(NormalDist().inv_cdf(1 - LIMIT_P / 2) * _deviation(count) + 1)
        return least + (least - pairs) % 2
    candidates = range(pairs % 2, pairs + 1, 2)
    return min((s for s in candidates if kendall_p(s, count) <= LIMIT_P), default=pairs + 1)


def _deviation(count: int) -> float:
    return math.sqrt(count * (count - 1) * (2 * count + 5) / 18)

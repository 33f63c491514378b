"""A trend over rounds: Kendall's S, the number of rising minus falling pairs in time order."""

from collections.abc import Sequence
from functools import cache
from math import factorial

LEAST_ROUNDS = 5  # at four rounds even a strict order has p = 0.083
LIMIT = {5: 10, 6: 13, 7: 15, 8: 18, 9: 20, 10: 23, 11: 27, 12: 30}
LIMIT_P = 0.05  # two-sided


def kendall_s(values: Sequence[float]) -> int:
    """Count rising pairs minus falling pairs.

    >>> kendall_s([100, 97, 94, 91, 88])
    -10
    """
    return sum(
        (later > earlier) - (later < earlier)
        for place, earlier in enumerate(values)
        for later in values[place + 1 :]
    )


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
    """Compute the exact two-sided p of |S|, without ties.

    >>> round(kendall_p(18, 8), 6)
    0.031151
    """
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
    """Find the smallest |S| with p <= 0.05."""
    pairs = count * (count - 1) // 2
    candidates = range(pairs % 2, pairs + 1, 2)
    return min((s for s in candidates if kendall_p(s, count) <= LIMIT_P), default=pairs + 1)

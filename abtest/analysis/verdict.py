"""What may be said of an effect: a fixed rule, so that nobody chooses it after seeing the numbers.

In this order:

1. `invalid`: a trial of the condition is invalid, or a counted one is not proved. A wrong set-up makes every
   number of the condition doubtful, also those of blocks that look whole.
2. `inconclusive`: a flag forbids the comparison (`FORBIDDING`), or an arm has fewer than four rounds. Two
   modes of equal weight stay unseen in two rounds half of the time, and no interval there has 95 %.
3. `faster` or `slower`: the interval excludes 1. Where a cell is disturbed (`DISTURBED`) a t interval would
   assume what was just doubted; then the range of all observed ratios must exclude 1: the candidate's worst
   round against the baseline's best. That also covers the worst combination of modes.
4. `equivalent`: no cell is disturbed and the interval lies within 1 +- `EQUIVALENCE`.
5. `inconclusive` otherwise.
"""

from collections.abc import Set as AbstractSet

from abtest.model.result import Interval, Verdict

# A choice, not a law: a kernel change of less than one per cent is rarely worth its code.
EQUIVALENCE = 0.01
LEAST_ROUNDS = 4
DISTURBED = frozenset(
    {"suspect", "bimodal?", "bimodal", "drift", "drift?", "outlier", "unstable", "order-confounded"}
)
FORBIDDING = frozenset(
    {
        "routes-equal",
        "undeclared-difference",
        "declared-not-observed",
        "drowned",
        "one-order-only",
    }
)
INVALIDATING = frozenset({"not-proved", "invalid-trials"})


def verdict(interval: Interval | None, names: AbstractSet[str], rounds: int) -> Verdict:
    """Judge one effect.

    Args:
        interval: of the ratio; the range of all observed ratios where a cell is disturbed.
        names: of all flags that bear on the effect.
        rounds: of the arm that has fewer.
    """
    if names & INVALIDATING:
        return Verdict.INVALID
    if interval is None or names & FORBIDDING or rounds < LEAST_ROUNDS:
        return Verdict.INCONCLUSIVE
    if interval.low > 1:
        return Verdict.FASTER
    if interval.high < 1:
        return Verdict.SLOWER
    inside = interval.low >= 1 - EQUIVALENCE and interval.high <= 1 + EQUIVALENCE
    return Verdict.EQUIVALENT if inside and not names & DISTURBED else Verdict.INCONCLUSIVE

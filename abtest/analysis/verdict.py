"""What may be said of an effect: a fixed rule, so that nobody chooses it after seeing the numbers."""

from collections.abc import Sequence

from abtest.model.flag import Flag
from abtest.model.result import Interval, Verdict

EQUIVALENCE = (
    0.01  # an interval wholly within 1 +- 1 % is called equivalent: below what users notice
)
DISTURBED = {"suspect", "bimodal?", "bimodal", "drift", "drift?", "outlier", "drowned", "unstable"}


def verdict(interval: Interval | None, flags: Sequence[Flag]) -> Verdict:
    """Judge one effect.

    A disturbed cell can still be judged faster or slower if even the range of all observed ratios excludes 1;
    the caller passes that range as the interval then. Equivalence is never called on a disturbed cell.
    """
    names = {flag.name for flag in flags}
    if "not-proved" in names:
        return Verdict.INVALID
    if interval is None or names & {"routes-equal", "undeclared-difference", "drowned"}:
        return Verdict.INCONCLUSIVE
    if interval.low > 1:
        return Verdict.FASTER
    if interval.high < 1:
        return Verdict.SLOWER
    inside = interval.low >= 1 - EQUIVALENCE and interval.high <= 1 + EQUIVALENCE
    return Verdict.EQUIVALENT if inside and not names & DISTURBED else Verdict.INCONCLUSIVE

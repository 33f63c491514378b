"""Candidate over baseline: the ratio of mean rates, and an interval that the number of rounds can carry.

No interval rests on normality below four rounds: there the range of observed ratios is given, with its exact
distribution-free level 1 - 2 / C(nA + nB, nA) for a shift between two independent samples.
"""

import math
import statistics
from collections.abc import Sequence
from math import comb

from abtest.model.result import Interval

COVERAGE = 0.95
PAIRED_FROM = 4
ADJUSTED_FROM = 6  # even: the order effect can be estimated beside the arm's


def speedup(baseline: Sequence[float], candidate: Sequence[float]) -> float:
    """Compute the ratio of arithmetic mean rates."""
    return statistics.fmean(candidate) / statistics.fmean(baseline)


def interval(
    baseline: Sequence[float], candidate: Sequence[float], first: Sequence[bool]
) -> Interval | None:
    """Give the interval of the ratio.

    Args:
        baseline: rates by round; `candidate` the same rounds in the same order.
        first: per round, whether the candidate ran before the baseline.

    Returns:
        None where one round is all there is.
    """
    count = len(baseline)
    if count != len(candidate):
        return welch(baseline, candidate)
    if count < 2:  # noqa: PLR2004 - one ratio has no range
        return None
    if count < PAIRED_FROM:
        return extremes(baseline, candidate)
    logs = [math.log(new / old) for old, new in zip(baseline, candidate, strict=True)]
    if count >= ADJUSTED_FROM and count % 2 == 0 and 0 < sum(first) < count:
        return order_adjusted(logs, first)
    return paired(logs)


def extremes(baseline: Sequence[float], candidate: Sequence[float]) -> Interval:
    """Give the range of all ratios between the arms' rounds, with its exact level."""
    level = 1 - 2 / comb(len(baseline) + len(candidate), len(baseline))
    low, high = min(candidate) / max(baseline), max(candidate) / min(baseline)
    return Interval(low, high, level, "range of observed ratios")


def paired(logs: Sequence[float]) -> Interval:
    """Give the t interval of the mean log ratio of rounds."""
    count = len(logs)
    half = _t(count - 1) * statistics.stdev(logs) / math.sqrt(count)
    return _around(statistics.fmean(logs), half, "paired t on log ratios")


def order_adjusted(logs: Sequence[float], first: Sequence[bool]) -> Interval:
    """Give the t interval with the order effect taken out: log ratio = effect +- order, n - 2 degrees."""
    count = len(logs)
    signs = [1.0 if early else -1.0 for early in first]
    mean, mean_sign = statistics.fmean(logs), statistics.fmean(signs)
    sxx = sum((sign - mean_sign) ** 2 for sign in signs)
    slope = sum((sign - mean_sign) * log for sign, log in zip(signs, logs, strict=True)) / sxx
    effect = mean - slope * mean_sign
    rest = sum((log - effect - slope * sign) ** 2 for sign, log in zip(signs, logs, strict=True))
    error = math.sqrt(rest / (count - 2) * (1 / count + mean_sign**2 / sxx))
    return _around(effect, _t(count - 2) * error, "order-adjusted t on log ratios")


def welch(baseline: Sequence[float], candidate: Sequence[float]) -> Interval | None:
    """Give Welch's t interval of the difference of mean log rates: the pairing is lost."""
    if min(len(baseline), len(candidate)) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    logs = [[math.log(rate) for rate in rates] for rates in (baseline, candidate)]
    parts = [statistics.variance(values) / len(values) for values in logs]
    error = math.sqrt(sum(parts))
    if error == 0:
        return None
    weights = sum(part**2 / (len(values) - 1) for part, values in zip(parts, logs, strict=True))
    difference = statistics.fmean(logs[1]) - statistics.fmean(logs[0])
    return _around(difference, _t(error**4 / weights) * error, "Welch t on log rates")


def slot_effect_pct(logs: Sequence[float], first: Sequence[bool]) -> float | None:
    """Estimate by how much running one slot later changes a rate, in per cent; None without both orders."""
    early = [log for log, is_first in zip(logs, first, strict=True) if is_first]
    late = [log for log, is_first in zip(logs, first, strict=True) if not is_first]
    if not early or not late:
        return None
    return 100 * math.expm1((statistics.fmean(late) - statistics.fmean(early)) / 2)


def _around(center: float, half: float, method: str) -> Interval:
    return Interval(math.exp(center - half), math.exp(center + half), COVERAGE, method)


def _t(degrees: float) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + COVERAGE) / 2, degrees))

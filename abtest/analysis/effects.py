"""Candidate over baseline: the ratio of mean rates, and an interval that the number of rounds can carry.

No interval rests on normality below four rounds: there the range of observed ratios is given, with its exact
distribution-free level 1 - 2 / C(nA + nB, nA) (Wilcoxon's rank sum at its end) for a shift between two independent samples.
"""

import math
from collections.abc import Sequence
from math import comb

from abtest.analysis import moments, tails
from abtest.model.result import Interval

COVERAGE = 0.95
RANGE = "range of observed ratios"
PAIRED_FROM = (
    4  # rounds; below, the t interval is formally right and useless (a factor of 8 at two rounds)
)
ADJUSTED_FROM = 6  # rounds, even: at four the degree of freedom costs more than drift does
CERTAIN_FROM = 60  # rounds of both arms: the level of the range differs from 1 by less than 1e-16


def speedup(baseline: Sequence[float], candidate: Sequence[float]) -> float:
    """Compute the ratio of arithmetic mean rates."""
    return moments.mean(candidate) / moments.mean(baseline)


def speedup_of_mean_times(baseline: Sequence[float], candidate: Sequence[float]) -> float:
    """Compute the ratio of the rates that belong to mean times: no upward bias from scatter."""
    return moments.harmonic(candidate) / moments.harmonic(baseline)


def interval(
    baseline: Sequence[float], candidate: Sequence[float], shifts: Sequence[int]
) -> Interval | None:
    """Give the interval of the ratio; which one depends on the number of rounds only, never on the data.

    Args:
        baseline: rates by round; `candidate` the same rounds in the same order where the lengths are equal.
        shifts: per round, the candidate's slot minus the baseline's.

    Returns:
        None where one round is all there is.
    """
    count = len(baseline)
    if count != len(candidate):
        few = min(count, len(candidate)) < PAIRED_FROM
        return extremes(baseline, candidate) if few else welch(baseline, candidate)
    if count < 2:  # noqa: PLR2004 - one ratio has no range
        return None
    if count < PAIRED_FROM:
        return extremes(baseline, candidate)
    logs = log_ratios(baseline, candidate)
    if count >= ADJUSTED_FROM and count % 2 == 0 and len(set(shifts)) > 1:
        return order_adjusted(logs, shifts)
    return paired(logs)


def log_ratios(baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
    return [math.log(new / old) for old, new in zip(baseline, candidate, strict=True)]


def extremes(baseline: Sequence[float], candidate: Sequence[float]) -> Interval:
    """Give the range of all ratios between the arms' rounds, with its exact level."""
    total = len(baseline) + len(candidate)
    level = 1 - 2 / comb(total, len(baseline)) if total < CERTAIN_FROM else 1.0
    low, high = min(candidate) / max(baseline), max(candidate) / min(baseline)
    return Interval(low, high, max(0.0, level), RANGE)


def paired(logs: Sequence[float]) -> Interval:
    """Give the t interval of the mean log ratio of rounds."""
    count = len(logs)
    half = t_quantile(count - 1) * moments.standard_error(logs)
    return _around(moments.mean(logs), half, "paired t on log ratios")


def order_adjusted(logs: Sequence[float], shifts: Sequence[int]) -> Interval:
    """Give the t interval with the order effect taken out: log ratio = effect + beta * shift, n - 2 degrees."""
    count = len(logs)
    beta, center = _slope(shifts, logs), moments.mean(shifts)
    effect = moments.mean(logs) - beta * center
    rest = math.fsum(
        (log - effect - beta * shift) ** 2 for shift, log in zip(shifts, logs, strict=True)
    )
    sxx = math.fsum((shift - center) ** 2 for shift in shifts)
    error = math.sqrt(rest / (count - 2) * (1 / count + center**2 / sxx))
    return _around(effect, t_quantile(count - 2) * error, "order-adjusted t on log ratios")


def _slope(shifts: Sequence[int], logs: Sequence[float]) -> float:
    center, middle = moments.mean(shifts), moments.mean(logs)
    sxx = math.fsum((shift - center) ** 2 for shift in shifts)
    sxy = math.fsum(
        (shift - center) * (log - middle) for shift, log in zip(shifts, logs, strict=True)
    )
    return sxy / sxx


def welch(baseline: Sequence[float], candidate: Sequence[float]) -> Interval | None:
    """Give Welch's t interval of the difference of mean log rates: the pairing is lost."""
    terms = welch_terms(baseline, candidate)
    if terms is None or terms[1] == 0:
        return None
    difference, error, degrees = terms
    return _around(difference, t_quantile(degrees) * error, "Welch t on log rates")


def welch_terms(
    baseline: Sequence[float], candidate: Sequence[float]
) -> tuple[float, float, float] | None:
    """Compute the difference of mean log rates, its standard error and degrees of freedom; None for one round."""
    if min(len(baseline), len(candidate)) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    logs = [[math.log(rate) for rate in rates] for rates in (baseline, candidate)]
    parts = [moments.variance(values) / len(values) for values in logs]
    error = math.sqrt(math.fsum(parts))
    weights = sum(part**2 / (len(values) - 1) for part, values in zip(parts, logs, strict=True))
    degrees = error**4 / weights if weights else float(len(logs[0]) + len(logs[1]) - 2)
    return moments.mean(logs[1]) - moments.mean(logs[0]), error, degrees


def slot_effect_pct(logs: Sequence[float], shifts: Sequence[int]) -> float | None:
    """Estimate by how much running one slot later changes a rate, in per cent; None for one order only."""
    if len(set(shifts)) < 2:  # noqa: PLR2004 - one order cannot be told from the arm
        return None
    return 100 * math.expm1(_slope(shifts, logs))


def _around(center: float, half: float, method: str) -> Interval:
    return Interval(math.exp(center - half), math.exp(center + half), COVERAGE, method)


def t_quantile(degrees: float, level: float = (1 + COVERAGE) / 2) -> float:
    """Give Student's t at a level, two-sided 95 % if none is given; degrees may be broken (Welch)."""
    return tails.t_quantile(degrees, level)

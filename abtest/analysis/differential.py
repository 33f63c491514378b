"""What one trial says: the differential and the time stamps, and how far either may be believed.

Model of one sandbox: T_short = P + n_short * tau + e, T_long = P + n_long * tau + e'. The difference cancels
the prefill P; what is left of the run's own jitter is amplified by the leverage kappa = T_short / d.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from abtest.analysis import moments
from abtest.model.trial import Pair, TrialRecord

# Below five, a median of differences loses more to noise than it saves from stalls.
MEDIAN_FROM_PAIRS = 5
# sqrt(pi / 2), rounded: standard error of a median over that of a mean under normal noise.
MEDIAN_EFFICIENCY = 1.2533
# Leverage above which the prefill's jitter, not the decode's, rules the differential.
PREFILL_DOMINATED = 3.0
# d below five standard deviations of itself (sqrt 2 of a run's): its inverse is skew, even negative.
DROWNED = 5 * math.sqrt(2)
# Of a rate, per cent: the range of two normal values stays within the published 6 % in 95 % (6 / 2.7718).
GATE_DEVIATION_PCT = 2.1647
LEAST_S = 1e-9  # what a clock can tell; a shorter difference, or time per token, is no time
# The relative standard error that `window_tokens` plans for, where nobody says otherwise.
TARGET_ERROR = 0.01


class TrialEstimate(
    NamedTuple
):  # there are 100 000: a frozen dataclass takes four times as long to make
    """One trial's rate.

    Args:
        rate_tok_s: tokens per second and sequence, None where the difference is no time.
        difference_s: seconds for n_long - n_short tokens.
        leverage: mean T_short over mean difference, None where that is not positive.
        within_se_pct: standard error inside the trial, per cent of the rate; None for one pair.
        timestamps_tok_s: the rate by time stamps, None where they were not recorded.
        deviation_s: standard deviation of the trial's differences; None for one pair.
        differences_s: of each pair, long minus short, in seconds.
        short_s: T_short of each pair.
    """

    rate_tok_s: float | None
    difference_s: float
    leverage: float | None
    within_se_pct: float | None
    timestamps_tok_s: float | None
    deviation_s: float | None = None
    differences_s: Sequence[float] = ()
    short_s: Sequence[float] = ()


def differences_s(pairs: Sequence[Pair]) -> list[float]:
    return [pair.t_long_s - pair.t_short_s for pair in pairs]


def estimate(record: TrialRecord) -> TrialEstimate:
    """Estimate a trial's rate from its pairs: the median difference from five pairs on, the mean below."""
    pairs = record.pairs
    all_s = differences_s(pairs)
    count = len(all_s)
    if not count:
        return TrialEstimate(None, 0.0, None, None, _timestamps_tok_s(record))
    mean_s = moments.mean(all_s)
    central_s = moments.median(all_s) if count >= MEDIAN_FROM_PAIRS else mean_s
    deviation_s = moments.deviation(all_s, mean_s) if count > 1 else None
    stamped_tok_s = _timestamps_tok_s(record)
    short_s = [pair.t_short_s for pair in pairs]
    if not LEAST_S <= central_s < math.inf:
        return TrialEstimate(
            None, central_s, None, None, stamped_tok_s, deviation_s, all_s, short_s
        )
    return TrialEstimate(
        rate_tok_s=(record.tokens[1] - record.tokens[0]) / central_s,
        difference_s=central_s,
        leverage=sum(short_s) / count / central_s,
        within_se_pct=_within_se_pct(mean_s, deviation_s, count),
        timestamps_tok_s=stamped_tok_s,
        deviation_s=deviation_s,
        differences_s=all_s,
        short_s=short_s,
    )


def _timestamps_tok_s(record: TrialRecord) -> float | None:
    stamps = record.token_s_per_token
    stamped_s = moments.median(stamps) if stamps else 0.0
    return 1 / stamped_s if LEAST_S <= stamped_s < math.inf else None


def _within_se_pct(mean_s: float, deviation_s: float | None, count: int) -> float | None:
    if deviation_s is None or mean_s <= 0:
        return None  # a mean that is not positive beside a median that is: no share of it means anything
    return 100 * (deviation_s / math.sqrt(count) / mean_s) * efficiency(count)


def efficiency(count: int) -> float:
    """Give the standard error of the central of so many differences over that of their mean."""
    return MEDIAN_EFFICIENCY if count >= MEDIAN_FROM_PAIRS else 1.0


def amplification(leverage: float) -> float:
    """By how much independent relative jitter of both runs is amplified: sqrt(kappa^2 + (1 + kappa)^2).

    >>> round(amplification(20), 2)
    29.0
    """
    return math.hypot(leverage, 1 + leverage)


def tolerable_jitter_pct(leverage: float) -> float:
    """Compute the relative jitter of a run, per cent, at which two rounds of one pair pass the gate 19 times in 20.

    It is what can be said where a trial has one pair: its own jitter is not measured.

    >>> round(tolerable_jitter_pct(6.0373799), 3), round(tolerable_jitter_pct(21.2632), 2)
    (0.233, 0.07)
    """
    return GATE_DEVIATION_PCT / amplification(leverage)


def explaining_jitter_s(all_s: Sequence[float]) -> float | None:
    """Find the jitter of one run, in seconds, that alone would make the differences scatter as they do."""
    return moments.deviation(all_s) / math.sqrt(2) if len(all_s) > 1 else None


def drowned(difference_s: float, jitter_s: float) -> bool:
    """Tell whether a difference is too small against the jitter of a run to be called a rate."""
    return difference_s < DROWNED * jitter_s


def window_tokens(jitter_s: float, s_per_token: float, pairs: int, n_short: int) -> int:
    """Plan the long token count at which jitter alone leaves the target relative error.

    The difference of two runs scatters by sqrt 2 of a run's jitter, and `pairs` of them are averaged.

    Args:
        jitter_s: standard deviation of one run.
        s_per_token: decode time per token.
    """
    error_s = math.sqrt(2 / pairs) * jitter_s
    return n_short + math.ceil(error_s / (s_per_token * TARGET_ERROR))

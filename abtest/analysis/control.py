"""The noise floor of an A/A run, and the slow-down that a control found against the one that was planted."""

import statistics
from collections import Counter
from collections.abc import Sequence

from abtest.analysis import moments
from abtest.analysis.effects import COVERAGE, PAIRED_FROM, t_quantile
from abtest.model.control import ControlResult, NoiseFloor, Outcome
from abtest.model.result import Effect, Summary, Verdict
from abtest.model.trial import TrialRecord

ONE_CALL = 1.0  # per token: what a simulated machine is told


def noise_floors(summary: Summary) -> tuple[NoiseFloor, ...]:
    """Give the noise floor at each condition with four rounds or more; fewer have no floor that may be quoted."""
    return tuple(
        NoiseFloor(
            condition=one.condition,
            rounds=min(one.rounds),
            ratio=one.basis_speedup,
            low=one.interval.low,
            high=one.interval.high,
            floor_pct=100 * max(abs(one.interval.low - 1), abs(one.interval.high - 1)),
            differs=one.verdict in (Verdict.FASTER, Verdict.SLOWER),
        )
        for one in summary.effects
        if one.interval is not None
        and one.basis_speedup is not None
        and min(one.rounds) >= PAIRED_FROM
    )


def control_results(
    summary: Summary, records: Sequence[TrialRecord], per_call_ms: float
) -> tuple[ControlResult, ...]:
    """Hold what was found against what was planted, at every condition.

    Args:
        records: standing ones.
        per_call_ms: how long each call of the routes function was held up.

    The intervals share an error of 5 % between the conditions, so that a sound set-up is called unsound one time in twenty.
    """
    level = 1 - (1 - COVERAGE) / max(1, len(summary.effects))
    return tuple(_result(one, records, per_call_ms, level) for one in summary.effects)


def _result(
    effect: Effect, records: Sequence[TrialRecord], per_call_ms: float, level: float
) -> ControlResult:
    own = [one for one in records if one.counts and one.condition == effect.condition]
    calls = _calls_per_token([one for one in own if one.arm == effect.candidate])
    pairs = effect.basis_rates_tok_s
    planted_ms = per_call_ms * calls
    found_ms = low_ms = high_ms = baseline_ms = None
    outcome = Outcome.NOT_MEASURED
    if calls and len(pairs) >= PAIRED_FROM:
        differences = [1000 / new - 1000 / old for old, new in pairs]
        baseline_ms = moments.mean([1000 / old for old, _ in pairs])
        found_ms = moments.mean(differences)
        half = t_quantile(len(pairs) - 1, (1 + level) / 2) * moments.standard_error(differences)
        low_ms, high_ms = found_ms - half, found_ms + half
        outcome = _outcome(low_ms, planted_ms, high_ms)
    return ControlResult(
        condition=effect.condition,
        rounds=len(pairs),
        per_call_ms=per_call_ms,
        calls_per_token=calls,
        planted_ms=planted_ms,
        baseline_ms=baseline_ms,
        found_ms=found_ms,
        low_ms=low_ms,
        high_ms=high_ms,
        level=level,
        outcome=outcome,
    )


def _outcome(low_ms: float, planted_ms: float, high_ms: float) -> Outcome:
    """An interval that holds both the planted amount and nothing at all has found nothing."""
    if not low_ms <= planted_ms <= high_ms:
        return Outcome.MISSED
    return Outcome.FOUND if low_ms > 0 else Outcome.TOO_NOISY


def _calls_per_token(records: Sequence[TrialRecord]) -> float:
    """Read the calls per decode step from the recorder; 0 where no trial says it.

    Routes are recorded over one short and one long generation, whose first token comes from the prefill. Ranks
    work side by side: the one with the most calls holds up the step.
    """
    if records and all(one.isolation == "simulated" for one in records):
        return ONE_CALL
    seen = []
    for record in records:
        by_rank: Counter[int] = Counter()
        for route in record.routes:
            if route.phase == "decode":
                by_rank[route.rank] += route.count
        seen.append(max(by_rank.values(), default=0) / (sum(record.tokens) - len(record.tokens)))
    return statistics.median(seen) if seen else 0.0

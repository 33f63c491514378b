"""Information per second: what an estimator is worth per second of the machine, scatter between sandboxes included.

A sandbox has its own decode time (the scatter between sandboxes, which no repetition inside removes). Its runs
have a prefill that jitters, and steps that jitter. Information is 1 / mean squared error of one sandbox's
rate against the truth; it is divided by the time that the sandbox costs: start, warm-up, pairs.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from abtest.analysis.differential import PREFILL_DOMINATED, estimate
from abtest.model.trial import Pair, Status, TrialRecord

LEVERAGE = 6.0
TOKEN_S = 0.020
TOKENS = (8, 64)
PREFILL_S = TOKEN_S * (LEVERAGE * (TOKENS[1] - TOKENS[0]) - TOKENS[0])
STEP_SD = 0.02  # of one decode step
PREFILL_SD = 0.003  # of one prefill
STALLED, STALL, CALM_SD = (
    0.1,
    0.03,
    0.001,
)  # or: a run in ten stalls by up to 3 %, the others are calm

Prefill = Callable[[random.Random], float]


def jittering(rng: random.Random) -> float:
    return PREFILL_S * rng.gauss(1, PREFILL_SD)


def stalling(rng: random.Random) -> float:
    stall = rng.uniform(0, STALL) if rng.random() < STALLED else 0.0
    return PREFILL_S * (rng.gauss(1, CALM_SD) + stall)


@dataclass(frozen=True, slots=True)
class Worth:
    """Mean squared errors of one sandbox's rate, relative to the truth.

    Args:
        single: the differential of one pair.
        pairs: the differential of all pairs, as the product takes it.
        in_force: what the verdict rests on at this leverage: time stamps, where every trial has them.
    """

    single: float
    pairs: float
    in_force: float


def worth(prefill: Prefill, between: float, pairs: int, sandboxes: int, seed: int) -> Worth:
    """Measure many sandboxes in the simulated world.

    Args:
        between: standard deviation of the decode time between sandboxes, relative.
    """
    rng = random.Random(seed)
    single, several, stamped = [], [], []
    for _ in range(sandboxes):
        record = _sandbox(prefill, TOKEN_S * rng.gauss(1, between), pairs, rng)
        one, all_of_it = estimate(_cut(record)), estimate(record)
        single.append(_error(one.rate_tok_s))
        several.append(_error(all_of_it.rate_tok_s))
        high = (all_of_it.leverage or 0.0) > PREFILL_DOMINATED
        stamped.append(_error(all_of_it.timestamps_tok_s if high else all_of_it.rate_tok_s))
    return Worth(*(math.fsum(errors) / sandboxes for errors in (single, several, stamped)))


def _error(rate_tok_s: float | None) -> float:
    """Square the relative error; a rate that cannot be had is as wrong as no information at all."""
    return (math.log(rate_tok_s * TOKEN_S)) ** 2 if rate_tok_s is not None else 1.0


def _sandbox(prefill: Prefill, token_s: float, pairs: int, rng: random.Random) -> TrialRecord:
    measured, stamps = [], []
    for number in range(pairs):
        times_s = []
        for count in TOKENS:
            steps_s = token_s * rng.gauss(count, STEP_SD * math.sqrt(count))
            times_s.append(prefill(rng) + steps_s)
        inside = TOKENS[1] - TOKENS[0]
        stamps.append(token_s * rng.gauss(1, STEP_SD / math.sqrt(inside)))
        measured.append(Pair(times_s[0], times_s[1], "long" if number % 2 else "short"))
    return TrialRecord(
        "calibration", "t", "-", "stock", 512, 1, 1, 1, 1, discarded=False, status=Status.OK, started_at="",
        isolation="docker", tokens=TOKENS, pairs=tuple(measured), token_s_per_token=tuple(stamps),
    )  # fmt: skip


def _cut(record: TrialRecord) -> TrialRecord:
    values = {name: getattr(record, name) for name in TrialRecord.__dataclass_fields__}
    return TrialRecord(**{**values, "pairs": record.pairs[:1], "token_s_per_token": ()})


def cost_s(start_s: float, pairs: int) -> float:
    """Seconds of one sandbox: its start, one warm-up of both lengths, its pairs."""
    pair_s = 2 * PREFILL_S + TOKEN_S * sum(TOKENS)
    return start_s + (1 + pairs) * pair_s


def gain(mine: float, other: float, start_s: float, pairs: int) -> float:
    """Information per second of an estimator with so many pairs, over that of a single pair."""
    return (other / mine) * (cost_s(start_s, 1) / cost_s(start_s, pairs))

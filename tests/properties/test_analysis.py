"""Properties of the analysis: units, names of arms and the order of keys change nothing that they must not change."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abtest.ledger import codec
from abtest.model.result import Effect, Summary
from abtest.model.trial import Pair, TrialRecord
from tests.report.test_summary import record, summary

ORDERS = (("stock", "fast"), ("fast", "stock"), ("fast", "stock"), ("stock", "fast"))


def made(rounds: int, noise: list[float]) -> list[TrialRecord]:
    """Proved trials in balanced order, whose times vary by the given relative amounts."""
    found = []
    for number in range(1, rounds + 1):
        for slot, arm in enumerate(ORDERS[(number - 1) % 4], start=1):
            factor = 1 + noise[(2 * number + slot) % len(noise)]
            found.append(scaled(record(arm, number, slot), factor, prefill=False))
    return found


def scaled(one: TrialRecord, factor: float, *, prefill: bool = True) -> TrialRecord:
    """The same trial on a machine that is slower by a factor, in decode alone or altogether."""
    pairs = tuple(
        Pair(
            pair.t_short_s * (factor if prefill else 1),
            (pair.t_short_s if prefill else 0) * factor
            + (pair.t_long_s - pair.t_short_s) * factor
            + (0 if prefill else pair.t_short_s),
            pair.first,
        )
        for pair in one.pairs
    )
    tokens = tuple(value * factor for value in one.token_s_per_token)
    return replace(one, pairs=pairs, token_s_per_token=tokens)


runs = st.builds(
    made,
    st.integers(2, 6).map(lambda half: 2 * half),
    st.lists(st.floats(-0.02, 0.02), min_size=5, max_size=20),
)


def effect_of(found: Summary) -> Effect:
    (effect,) = found.effects
    return effect


@given(runs, st.sampled_from([0.25, 0.5, 2.0, 1024.0]))
def test_a_machine_that_is_slower_by_a_factor_shows_the_same_effect(
    found: list[TrialRecord], factor: float
) -> None:
    """The factors are powers of two, so that no digit is lost on the way."""
    one = effect_of(summary(found))
    other = effect_of(summary([scaled(it, factor) for it in found]))
    assert other.speedup == pytest.approx(one.speedup, rel=1e-9)
    assert other.verdict == one.verdict
    assert {flag.name for flag in other.flags} == {flag.name for flag in one.flags}
    if one.interval is not None:
        assert other.interval is not None
        assert other.interval.low == pytest.approx(one.interval.low, rel=1e-6)
        assert other.interval.high == pytest.approx(one.interval.high, rel=1e-6)


def exchanged(one: TrialRecord) -> TrialRecord:
    """The same trial under the other arm's name: its times and its identity stay."""
    return replace(one, arm={"stock": "fast", "fast": "stock"}[one.arm])


@given(runs)
def test_exchanged_names_of_the_arms_invert_the_effect(found: list[TrialRecord]) -> None:
    one, other = (effect_of(summary(it)) for it in (found, [exchanged(record) for record in found]))
    assert one.speedup is not None
    assert other.speedup is not None
    assert one.speedup * other.speedup == pytest.approx(1, rel=1e-9)
    opposite = {"faster": "slower", "slower": "faster"}
    assert other.verdict == opposite.get(one.verdict, one.verdict)
    if one.interval is not None and other.interval is not None and len(found) >= 8:
        assert math.log(one.interval.low) == pytest.approx(-math.log(other.interval.high), abs=1e-6)


@given(runs, st.randoms(use_true_random=False))
def test_the_order_of_keys_in_the_ledger_changes_nothing(
    found: list[TrialRecord], chance: Any
) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, list):
            return [shuffled(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key]) for key in keys}

    lines = [json.dumps(shuffled(json.loads(codec.encode(one)))) for one in found]
    read = [codec.decode(line) for line in lines]
    assert read == found
    assert summary([one for one in read if isinstance(one, TrialRecord)]) == summary(found)

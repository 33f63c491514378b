"""Gates: what each look says, where more rounds are asked for, and what can never pass."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from abtest.analysis.effects import t_quantile
from abtest.analysis.gate import LEVEL, judge
from abtest.model.gate import Decision, Gate, GateResult
from abtest.model.result import Summary
from abtest.model.trial import Status, TrialRecord

MakeRun = Callable[..., list[TrialRecord]]
Summarise = Callable[..., Summary]


def judged(
    records: Sequence[TrialRecord], summarise: Summarise, ratio: float = 1.05, cap: int = 8
) -> GateResult:
    (found,) = judge(
        [Gate.parse(f"fast@512>={ratio}")], summarise(list(records)), list(records), cap
    )
    return found


def rates(center: float, count: int, deviation: float = 0.01) -> list[float]:
    """Rates whose pattern of signs does not follow the order of the arms."""
    signs = (1, -1, 0.5, -0.5, -1, 1, -0.5, 0.5)
    return [center * (1 + deviation * sign) for sign in signs[:count]]


@pytest.mark.parametrize(("n", "multiplier"), [(4, 3.2469), (6, 2.6112), (8, 2.3981)])
def test_the_limits_use_the_levels_that_three_looks_need(n: int, multiplier: float) -> None:
    assert t_quantile(n - 1, 1 - LEVEL) == pytest.approx(multiplier, abs=5e-5)


def test_a_clear_gain_is_met_at_the_first_look(make_run: MakeRun, summarise: Summarise) -> None:
    found = judged(make_run([100] * 4, rates(120, 4)), summarise)
    assert found.decision is Decision.MET
    (look,) = found.looks
    logs = [math.log(rate / 100) for rate in rates(120, 4)]
    mean = sum(logs) / 4
    error = math.sqrt(sum((log - mean) ** 2 for log in logs) / 3 / 4)
    assert look.low == pytest.approx(math.exp(mean - 3.2469 * error), rel=1e-5)
    assert found.next_rounds is None


def test_a_clear_lack_is_not_met_at_the_first_look(make_run: MakeRun, summarise: Summarise) -> None:
    found = judged(make_run([100] * 4, rates(101, 4)), summarise)
    assert found.decision is Decision.NOT_MET
    assert len(found.looks) == 1


@pytest.mark.parametrize(("n", "asked"), [(2, 4), (3, 4), (4, 6), (5, 6), (6, 8), (8, None)])
def test_an_open_question_asks_for_the_next_look_until_the_last_one(
    n: int, asked: int | None, make_run: MakeRun, summarise: Summarise
) -> None:
    found = judged(make_run([100] * n, rates(105, n)), summarise)
    assert found.decision is Decision.INCONCLUSIVE
    assert found.next_rounds == asked
    assert [look.rounds for look in found.looks] == [look for look in (4, 6, 8) if look <= n]


def test_a_cap_ends_the_looks(make_run: MakeRun, summarise: Summarise) -> None:
    found = judged(make_run([100] * 8, rates(105, 8)), summarise, cap=6)
    assert [look.rounds for look in found.looks] == [4, 6]
    assert found.next_rounds is None


def test_rounds_after_a_decision_do_not_change_it(make_run: MakeRun, summarise: Summarise) -> None:
    records = make_run([100] * 8, [*rates(120, 4), 60, 150, 61, 149])
    assert judged(records, summarise).decision is Decision.MET
    assert len(judged(records, summarise).looks) == 1


def test_two_modes_are_judged_by_the_worst_pair(make_run: MakeRun, summarise: Summarise) -> None:
    modes = [130.0, 101, 101.5, 131, 130.5, 102]
    found = judged(make_run([100, 100.1, 99.9, 100, 100.1, 99.9], modes), summarise, cap=6)
    assert found.decision is Decision.NOT_MET  # the mean alone would stand at 1.16
    assert found.looks[-1].note.startswith("worst pair of modes, 3 slow rounds")
    assert found.looks[-1].ratio == pytest.approx(1.15, abs=0.02)


def test_a_slow_mode_above_the_gate_is_met(make_run: MakeRun, summarise: Summarise) -> None:
    modes = [160.0, 130, 130.5, 161, 160.5, 131]
    found = judged(make_run([100, 100.1, 99.9, 100, 100.1, 99.9], modes), summarise)
    assert found.decision is Decision.MET
    assert "worst pair of modes" in found.looks[-1].note


def test_four_rounds_in_two_groups_never_fail_by_their_slow_group(
    make_run: MakeRun, summarise: Summarise
) -> None:
    found = judged(make_run([100, 100.1, 99.9, 100], [130.0, 101, 101.1, 131]), summarise)
    assert found.decision is Decision.INCONCLUSIVE
    assert found.looks[0].note.startswith("lower limit by the worst pair")
    assert found.next_rounds == 6


def test_an_unproved_trial_is_never_a_pass(make_run: MakeRun, summarise: Summarise) -> None:
    records = make_run([100] * 6, rates(150, 6))
    records[-1] = replace(records[-1], status=Status.INVALID, reason="code-mismatch: planted")
    found = judged(records, summarise)
    assert found.decision is Decision.UNPROVED
    assert "invalid-trials" in found.why


def test_equal_routes_compare_nothing_and_ask_for_no_rounds(
    make_run: MakeRun, summarise: Summarise
) -> None:
    records = [
        replace(record, routes=tuple(replace(one, values={"split": True}) for one in record.routes))
        for record in make_run([100] * 4, rates(150, 4))
    ]
    found = judged(records, summarise)
    assert found.decision is Decision.INCONCLUSIVE
    assert found.next_rounds is None
    assert "routes-equal" in found.why


def test_one_order_only_asks_for_more_rounds(make_run: MakeRun, summarise: Summarise) -> None:
    found = judged(make_run([100] * 4, rates(150, 4), "A"), summarise)
    assert found.decision is Decision.INCONCLUSIVE
    assert found.looks[0].note == "one-order-only"
    assert found.next_rounds == 6


def test_blocks_that_are_not_whole_do_not_count(make_run: MakeRun, summarise: Summarise) -> None:
    records = make_run([100] * 4, rates(150, 4))
    found = judged(records[:-1], summarise)
    assert (found.decision, found.rounds, found.next_rounds) == (Decision.INCONCLUSIVE, 3, 4)


def test_no_gain_passes_about_one_time_in_twenty_over_three_looks(
    make_run: MakeRun, summarise: Summarise
) -> None:
    """The truth lies on the gate: 0.05 is the chance of a pass; 0.10 or 0.01 would be a wrong level."""
    drawn = random.Random(5)
    passed = 0
    for _ in range(300):
        ratios = [1.05 * math.exp(drawn.gauss(0, 0.01)) for _ in range(8)]
        records = make_run([100] * 8, [100 * ratio for ratio in ratios])
        passed += judged(records, summarise).decision is Decision.MET
    assert 0.02 <= passed / 300 <= 0.085

"""The order of trials: balanced, mirrored, and readable without running anything."""

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abtest.model.names import Condition
from abtest.plan import (
    arm_order,
    blocks,
    condition_order,
    make_plan,
    seed_of,
    williams_rows,
    without,
)

CONDITIONS = (Condition(512), Condition(2048), Condition(8192))


def test_two_arms_follow_the_thue_morse_order() -> None:
    orders = ["".join(arm_order("AB", number)) for number in range(1, 9)]
    assert orders == ["AB", "BA", "BA", "AB", "BA", "AB", "AB", "BA"]


@pytest.mark.parametrize(
    ("count", "rows"),
    [(3, ["012", "210", "120", "021", "201", "102"]), (4, ["0132", "2310", "1203", "3021"])],
)
def test_williams_rows_are_those_of_the_literature(count: int, rows: list[str]) -> None:
    assert ["".join(map(str, row)) for row in williams_rows(count)] == rows


@given(st.integers(2, 9), st.integers(1, 20).map(lambda half: 2 * half))
def test_e4_after_every_even_number_of_rounds_all_arms_have_the_same_mean_slot(
    count: int, rounds: int
) -> None:
    arms = [f"arm{index}" for index in range(count)]
    slots: dict[str, int] = defaultdict(int)
    for number in range(1, rounds + 1):
        for slot, arm in enumerate(arm_order(arms, number), start=1):
            slots[arm] += slot
    assert len(set(slots.values())) == 1


@given(st.integers(3, 9))
def test_the_full_set_of_rows_is_balanced_for_carry_over(count: int) -> None:
    followers: dict[tuple[int, int], int] = defaultdict(int)
    for row in williams_rows(count):
        for before, after in pairwise(row):
            followers[before, after] += 1
    assert len(followers) == count * (count - 1)
    assert len(set(followers.values())) == 1


def test_quadratic_drift_cancels_after_four_rounds() -> None:
    cost = {"A": 0, "B": 0}
    place = 0
    for number in range(1, 5):
        for arm in arm_order("AB", number):
            cost[arm] += place * place
            place += 1
    assert cost["A"] == cost["B"]


def test_conditions_are_reversed_on_every_second_round() -> None:
    first, second = (condition_order(CONDITIONS, number, seed_of("demo")) for number in (1, 2))
    assert first == tuple(reversed(second))
    assert sorted(first) == sorted(CONDITIONS)


def test_a_plan_begins_with_one_discarded_trial_per_arm_and_keeps_blocks_together() -> None:
    plan = make_plan(("stock", "splitkv"), CONDITIONS, range(1, 5), seed=1)
    assert [trial.discarded for trial in plan[:3]] == [True, True, False]
    assert len(plan) == 2 + 2 * 3 * 4
    for block in blocks(plan)[2:]:
        assert len(block) == 2
        assert {trial.cell.arm for trial in block} == {"stock", "splitkv"}
        assert len({(trial.round, trial.cell.condition) for trial in block}) == 1
    assert [trial.order for trial in plan] == list(range(1, len(plan) + 1))
    assert len({trial.name for trial in plan}) == len(plan)


def test_the_same_plan_comes_out_twice() -> None:
    plans = [make_plan(("a", "b"), CONDITIONS, range(1, 5), seed=seed_of("x")) for _ in range(2)]
    assert plans[0] == plans[1]


def test_only_blocks_that_are_not_done_are_left_and_nothing_is_warmed_up_for_nothing() -> None:
    plan = make_plan(("a", "b"), (Condition(1),), (1, 2), seed=0)
    left = without(plan, {(1, Condition(1))})
    assert [trial.round for trial in left] == [0, 0, 2, 2]
    assert without(plan, {(1, Condition(1)), (2, Condition(1))}) == ()

"""Properties of plans: balance for any number of arms and rounds, and a resume that runs exactly what is missing."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from abtest.model.names import Condition
from abtest.model.trial import PlannedTrial, Status, TrialRecord
from abtest.plan import arm_order, blocks, make_plan, without
from abtest.runner.resume import progress
from tests.properties.test_ledger import records as any_record

ARMS = tuple(f"arm{number}" for number in range(6))
plans = st.builds(
    lambda count, depths, rounds, seed: make_plan(
        ARMS[:count],
        tuple(Condition(depth, 1) for depth in sorted(depths)),
        range(1, rounds + 1),
        seed=seed,
    ),
    st.integers(2, 6),
    st.sets(st.integers(1, 50), min_size=1, max_size=4),
    st.integers(1, 8),
    st.integers(0, 2**64),
)


@given(st.integers(2, 16), st.integers(1, 40))
def test_after_every_even_number_of_rounds_no_arm_came_earlier_than_another(
    count: int, half: int
) -> None:
    arms = [f"arm{number}" for number in range(count)]
    places = Counter[str]()
    for number in range(1, 2 * half + 1):
        order = arm_order(arms, number)
        assert sorted(order) == sorted(arms)
        places.update({arm: place for place, arm in enumerate(order)})
    assert len({places[arm] for arm in arms}) == 1


@given(plans)
def test_a_plan_has_every_trial_once_in_whole_blocks(plan: tuple[PlannedTrial, ...]) -> None:
    assert [one.order for one in plan] == list(range(1, len(plan) + 1))
    assert len({one.name for one in plan}) == len(plan)
    arms = {one.cell.arm for one in plan}
    for block in blocks([one for one in plan if not one.discarded]):
        assert {one.cell.arm for one in block} == arms
        assert [one.slot for one in block] == list(range(1, len(arms) + 1))


def recorded(template: TrialRecord, one: PlannedTrial, name: str, status: Status) -> TrialRecord:
    condition = one.cell.condition
    return replace(
        template,
        trial=name,
        arm=one.cell.arm,
        depth=condition.depth,
        batch=condition.batch,
        round=one.round,
        slot=one.slot,
        order=one.order,
        discarded=one.discarded,
        status=status,
    )


@given(plans, any_record, st.data())
def test_a_resume_runs_what_is_missing_and_leaves_each_block_once(
    plan: tuple[PlannedTrial, ...], template: TrialRecord, data: st.DataObject
) -> None:
    """After any number of sessions, each ended at any trial with any status, the last one leaves every block whole."""
    arms = tuple(dict.fromkeys(one.cell.arm for one in plan))
    standing: list[TrialRecord] = []
    for session in range(data.draw(st.integers(0, 3)) + 1):
        state = progress(standing, arms)
        standing = [one for one in standing if one.trial not in state.leftover]
        todo = without(plan, set(state.whole))
        whole = {(one.round, one.cell.condition) for one in plan if not one.discarded} - state.whole
        assert {(one.round, one.cell.condition) for one in todo if not one.discarded} == whole
        count = data.draw(st.integers(0, len(todo)))
        for number, one in enumerate(todo[:count]):
            last = number == count - 1
            status = data.draw(st.sampled_from(Status)) if last else Status.OK
            standing.append(recorded(template, one, f"{session}-{one.name}", status))
    state = progress(standing, arms)
    standing = [one for one in standing if one.trial not in state.leftover]
    for one in without(plan, set(state.whole)):
        standing.append(recorded(template, one, f"last-{one.name}", Status.OK))
    seen = Counter((one.round, one.condition, one.arm) for one in standing if one.counts)
    wanted = {(one.round, one.cell.condition, one.cell.arm) for one in plan if not one.discarded}
    assert seen == dict.fromkeys(wanted, 1)
    assert without(plan, set(progress(standing, arms).whole)) == ()

"""The loop: every planned trial becomes one record; failures are retried, faults of the set-up stop it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from abtest.errors import InfrastructureError, UnprovedError
from abtest.model.names import Condition
from abtest.model.trial import PlannedTrial, Status, TrialRecord
from abtest.plan import make_plan, without
from abtest.ports import Clock
from abtest.runner.campaign import run_campaign
from abtest.runner.resume import check_same, last_round, progress
from abtest.runtimes.simulated import Truth

MakeWorld = Callable[..., Any]


class SlowListener:
    """Lets three seconds pass whenever a trial ends."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def trial_started(self, trial: PlannedTrial, total: int) -> None: ...

    def phase(self, trial: PlannedTrial, phase: str) -> None: ...

    def trial_ended(self, record: TrialRecord) -> None:
        self._clock.sleep(3)


def test_d12_warm_up_trials_are_kept_and_never_counted(make_world: MakeWorld) -> None:
    world = make_world(Truth())
    assert run_campaign(world.setup, world.plan, world.sink, world.ports)
    records = world.sink.records
    assert [record.trial for record in records] == [trial.name for trial in world.plan]
    assert [record.discarded for record in records[:3]] == [True, True, False]
    assert not any(record.counts for record in records[:2])
    assert all(record.status is Status.OK for record in records)


def test_a_failed_trial_is_tried_again_in_a_new_sandbox(make_world: MakeWorld) -> None:
    name = "r01-512-s1-stock"
    world = make_world(Truth(fail={name: 1}))
    run_campaign(world.setup, world.plan, world.sink, world.ports)
    failed = [record for record in world.sink.records if record.status is Status.FAILED]
    assert [record.trial for record in failed] == [name]
    assert world.sink.superseded == [name]
    assert f"{name}.2" in [record.trial for record in world.sink.records if record.counts]


def test_f16_an_engine_that_always_fails_never_ends_as_done(make_world: MakeWorld) -> None:
    name = "r01-512-s1-stock"
    world = make_world(Truth(fail={name: 1, f"{name}.2": 137}))
    with pytest.raises(InfrastructureError, match=r"137|SIGKILL") as caught:
        run_campaign(world.setup, world.plan, world.sink, world.ports)
    assert caught.value.exit_code == 4
    assert world.sink.records[-1].status is Status.FAILED


def test_foreign_code_stops_the_run_at_once(make_world: MakeWorld) -> None:
    name = "r01-512-s2-fast"
    world = make_world(Truth(foreign_code=frozenset({name})))
    with pytest.raises(UnprovedError, match="identity-mismatch") as caught:
        run_campaign(world.setup, world.plan, world.sink, world.ports)
    assert caught.value.exit_code == 3
    assert world.sink.records[-1].trial == name
    assert world.sink.records[-1].status is Status.INVALID


def test_the_time_budget_ends_a_run_between_blocks(make_world: MakeWorld) -> None:
    world = make_world(Truth(), total_s=10)
    slow = SlowListener(world.clock)
    finished = run_campaign(
        world.setup, world.plan, world.sink, replace(world.ports, listener=slow)
    )
    assert not finished
    assert len(world.sink.records) == 4  # two warm-ups and one whole block of 3 s trials


def test_rounds_that_are_added_later_share_the_time_budget(make_world: MakeWorld) -> None:
    world = make_world(Truth(), total_s=10)
    world.clock.sleep(60)
    ports, sink = world.ports, world.sink
    assert not run_campaign(world.setup, world.plan, sink, ports, started_s=0.0)
    assert sink.records == []
    assert run_campaign(world.setup, world.plan, sink, ports, started_s=55.0)


def test_resume_runs_what_is_not_whole_and_only_that(make_world: MakeWorld) -> None:
    world = make_world(Truth())
    run_campaign(world.setup, world.plan, world.sink, world.ports)
    records = world.sink.records[:5]  # two warm-ups, one whole block, one trial of the next
    arms = ("stock", "fast")
    state = progress(records, arms)
    assert len(state.whole) == 1
    assert state.leftover == (records[4].trial,)
    left = without(world.plan, set(state.whole))
    assert len(left) == len(world.plan) - 2
    assert progress(world.sink.records, arms).leftover == ()


def test_a_part_that_changed_is_named(make_world: MakeWorld) -> None:
    parts = make_world(Truth()).setup.parts
    check_same(parts, dict(parts))
    with pytest.raises(UnprovedError, match="arm fast: file") as caught:
        check_same(parts, {**parts, "arm fast: file": "other"})
    assert caught.value.exit_code == 3
    with pytest.raises(UnprovedError, match="image: python"):
        check_same(parts, {key: value for key, value in parts.items() if key != "image: python"})


def test_rounds_go_on_where_they_ended(make_world: MakeWorld) -> None:
    world = make_world(Truth())
    run_campaign(world.setup, world.plan, world.sink, world.ports)
    assert last_round(world.sink.records, Condition(512)) == 2
    assert last_round(world.sink.records, Condition(4096)) == 0
    more = make_plan(("stock", "fast"), (Condition(512),), (3, 4), seed=1, first_order=11)
    assert [trial.round for trial in more] == [0, 0, 3, 3, 4, 4]
    assert more[0].order == 11

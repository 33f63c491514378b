"""Between trials: cards come back, or the run stops; voids repeat the whole block, under a cap; by a fake source."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from abtest.errors import InfrastructureError
from abtest.model.telemetry import CardProcess, Sample, Telemetry, Window
from abtest.model.trial import Status
from abtest.runner.between import Between, busy
from abtest.runner.campaign import run_campaign
from abtest.runner.resume import progress
from abtest.runtimes.simulated import Truth

GIB = 1 << 30
MakeWorld = Callable[..., Any]


@dataclass
class FakeSource:
    """A machine whose every look and every trial is told beforehand; the last answer is repeated."""

    looks: Sequence[float | None] = (0.0,)
    processes: tuple[CardProcess, ...] = ()
    trials: Sequence[Telemetry] = (Telemetry(0.2, 10),)
    looked: int = 0
    watched: int = 0
    facts_now: dict[str, str] = field(default_factory=lambda: {"gpu.models": "a card"})

    def facts(self) -> Mapping[str, str]:
        return self.facts_now

    def look(self) -> tuple[Sample, tuple[CardProcess, ...]]:
        held_gib = self.looks[min(self.looked, len(self.looks) - 1)]
        self.looked += 1
        held = None if held_gib is None else held_gib * GIB
        return {"gpu0.mem_used_bytes": held}, self.processes

    @contextmanager
    def watch(self) -> Iterator["FakeSource"]:
        self.watched += 1
        yield self

    def report(
        self, windows: Sequence[Window], out_dir: str, container: str | None
    ) -> tuple[Telemetry, Mapping[str, str]]:
        return self.trials[min(self.watched, len(self.trials)) - 1], {"telemetry.csv": "0" * 64}


def watched(world: Any, source: FakeSource) -> Any:
    return replace(world.ports, telemetry=source)


def between(world: Any, source: FakeSource) -> Between:
    gate = Between(source, world.clock, idle_s=1.0, settle_s=60.0)
    gate.begin()
    gate.trial_ended()
    return gate


def test_f9_the_next_start_waits_for_memory_that_decays(make_world: MakeWorld) -> None:
    world, source = make_world(Truth()), FakeSource(looks=(1.0, 40.0, 20.0, 5.0, 1.1))
    assert between(world, source).wait() == pytest.approx(1.5)
    assert source.looked == 5


def test_f10_memory_that_never_comes_back_stops_the_run(make_world: MakeWorld) -> None:
    world, source = make_world(Truth()), FakeSource(looks=(1.0, 40.0))
    with pytest.raises(InfrastructureError, match=r"previous-run-memory.*39\.0 GiB") as caught:
        between(world, source).wait()
    assert caught.value.exit_code == 4
    assert world.clock.now_s == pytest.approx(60.0)


def test_f10_the_whole_run_stops_before_the_next_trial(make_world: MakeWorld) -> None:
    world, source = make_world(Truth()), FakeSource(looks=(1.0, 1.0, 40.0))
    with pytest.raises(InfrastructureError, match="previous-run-memory"):
        run_campaign(world.setup, world.plan, world.sink, watched(world, source))
    assert len(world.sink.records) == 1


def test_d9_a_card_that_stops_telling_its_memory_is_no_pass(make_world: MakeWorld) -> None:
    world, source = make_world(Truth()), FakeSource(looks=(1.0, None))
    with pytest.raises(InfrastructureError, match="does not tell its memory"):
        between(world, source).wait()


def test_work_of_somebody_else_keeps_the_next_trial_waiting() -> None:
    foreign, own, unknown = (
        CardProcess("gpu0", pid, ours) for pid, ours in ((5, False), (6, True), (7, None))
    )
    assert list(busy({}, {}, (own,))) == []
    assert list(busy({}, {}, (foreign,))) == ["process 5 of somebody else works on gpu0"]
    assert list(busy({}, {}, (unknown,))) == ["process 7 of somebody else works on gpu0"]


def test_the_gap_between_trials_is_constant_and_recorded(make_world: MakeWorld) -> None:
    world = make_world(Truth())
    run_campaign(world.setup, world.plan, world.sink, watched(world, FakeSource()))
    gaps = [record.telemetry.idle_s for record in world.sink.records]
    assert gaps[0] is None
    assert set(gaps[1:]) == {1.0}


def test_the_record_has_summary_sidecar_and_the_machines_facts(make_world: MakeWorld) -> None:
    world = make_world(Truth())
    run_campaign(world.setup, world.plan, world.sink, watched(world, FakeSource()))
    record = world.sink.records[-1]
    assert record.telemetry is not None
    assert record.telemetry.samples == 10
    assert record.files["telemetry.csv"] == "0" * 64
    assert record.environment["machine.gpu.models"] == "a card"
    assert "container.options" in record.environment


SWAPPING = Telemetry(0.2, 10, figures={"swapped_pages": 9000.0})
QUIET = Telemetry(0.2, 10, figures={"swapped_pages": 0.0})


def test_a_void_trial_repeats_its_whole_block_and_everything_is_kept(
    make_world: MakeWorld,
) -> None:
    world = make_world(Truth())
    source = FakeSource(trials=(QUIET, QUIET, QUIET, SWAPPING, QUIET))  # the first block's second
    assert run_campaign(world.setup, world.plan, world.sink, watched(world, source))
    void = [record for record in world.sink.records if record.status is Status.VOID]
    assert len(void) == 1
    assert (void[0].reason or "").startswith("swap: 9000 pages")
    assert void[0].pairs  # kept: void by state, and its numbers can be read
    assert len(world.sink.superseded) == 1
    good = [record for record in world.sink.records if record.counts]
    assert len(good) == len(world.plan) - 2 + 1  # every planned trial, and the superseded one
    standing = [r for r in world.sink.records if r.trial not in world.sink.superseded]
    assert progress(standing, ("stock", "fast")).leftover == ()


def test_retries_of_void_blocks_are_capped(make_world: MakeWorld) -> None:
    world = make_world(Truth())
    source = FakeSource(trials=(SWAPPING,))
    with pytest.raises(InfrastructureError, match="every attempt at the block") as caught:
        run_campaign(world.setup, world.plan, world.sink, watched(world, source))
    assert caught.value.exit_code == 4
    assert "telemetry.void" in caught.value.remedy
    blocks = [record for record in world.sink.records if not record.discarded]
    assert [record.status for record in blocks] == [Status.VOID, Status.VOID]


def test_a_rule_that_the_experiment_leaves_out_voids_nothing(make_world: MakeWorld) -> None:
    world = make_world(Truth(), extra="telemetry: {void: [throttle]}\n")
    assert run_campaign(
        world.setup, world.plan, world.sink, watched(world, FakeSource(trials=(SWAPPING,)))
    )
    assert all(record.status is Status.OK for record in world.sink.records)


def test_d9_a_link_that_becomes_narrower_voids_and_a_missing_width_does_not(
    make_world: MakeWorld,
) -> None:
    def width(lanes: float | None) -> Telemetry:
        return Telemetry(0.2, 10, figures={"link_width": lanes})

    world = make_world(Truth())
    source = FakeSource(trials=(width(16), width(None), width(16), width(8), width(16)))
    assert run_campaign(world.setup, world.plan, world.sink, watched(world, source))
    void = [record for record in world.sink.records if record.status is Status.VOID]
    assert [record.reason for record in void] == ["link-narrower: PCIe x8, it was x16 in this run"]
    earlier = replace(world.sink.records[-1], telemetry=width(32))
    again = make_world(Truth())
    with pytest.raises(InfrastructureError, match="it was x32"):  # a resumed run remembers
        run_campaign(
            again.setup, again.plan, again.sink, watched(again, source), earlier=(earlier,)
        )

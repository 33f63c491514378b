"""A run on a machine with a known truth: the simulated runtime, a clock that never waits, a sink in memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from abtest.model.sandbox import ImageRequest, Swap
from abtest.model.trial import PlannedTrial, TrialRecord
from abtest.plan import make_plan
from abtest.runner.setup import Setup
from abtest.runner.trial import Ports
from abtest.runtimes.simulated import SimulatedRuntime, Truth
from abtest.spec import Experiment, parse

TEXT = """\
schema: 1
name: demo
target: pkg/kernel.py
baseline: stock
arms: {stock: {}, fast: {env: {FAST: "1"}}}
engine: {kind: reference, tensor_parallel: 2}
depths: [512, 2048]
pairs: 3
rounds: 2
limits: {start_s: 5, trial_s: 9, retries: 1}
"""


class SteppingClock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic_s(self) -> float:
        return self.now_s

    def utc(self) -> str:
        return f"2026-01-31T00:00:{int(self.now_s) % 60:02d}Z"

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Sink:
    """Records in memory."""

    def __init__(self) -> None:
        self.records: list[TrialRecord] = []
        self.superseded: list[str] = []
        self._names: list[str] = []

    def open_trial(self, name: str) -> tuple[str, str]:
        count = self._names.count(name)
        self._names.append(name)
        return (name if count == 0 else f"{name}.{count + 1}"), "/nowhere"

    def append(self, record: TrialRecord) -> None:
        self.records.append(record)

    def supersede(self, trial: str, reason: str) -> None:
        assert reason
        self.superseded.append(trial)


class Quiet:
    def trial_started(self, trial: PlannedTrial, total: int) -> None: ...

    def phase(self, trial: PlannedTrial, phase: str) -> None: ...

    def trial_ended(self, record: TrialRecord) -> None: ...


@dataclass
class World:
    """One simulated run, ready to go."""

    setup: Setup
    plan: tuple[PlannedTrial, ...]
    runtime: SimulatedRuntime
    clock: SteppingClock = field(default_factory=SteppingClock)
    sink: Sink = field(default_factory=Sink)

    @property
    def ports(self) -> Ports:
        return Ports(self.runtime, self.clock, Quiet())


def world(truth: Truth, *, extra: str = "", total_s: float | None = None) -> World:
    text = TEXT.replace("retries: 1", f"retries: 1, total_s: {total_s or 'null'}") + extra
    experiment: Experiment = parse(text, file="experiment.yaml", folder=Path("/"))
    shas: Mapping[str, str] = {arm: f"{index:064d}" for index, arm in enumerate(experiment.arms)}
    runtime = SimulatedRuntime(truth, baseline="stock")
    image = runtime.survey(ImageRequest("host", "", None, (), (experiment.target,)))
    setup = Setup(
        run="demo-1",
        experiment=experiment,
        images=dict.fromkeys(experiment.arms, image),
        pythonpath=(),
        swaps={
            arm: (Swap(experiment.target, "/p/kernel.py", "/p", "/staged", "0" * 32, sha),)
            for arm, sha in shas.items()
        },
        secrets={},
        isolation="simulated",
        host="a machine",
    )
    plan = make_plan(
        tuple(experiment.arms), experiment.conditions, range(1, experiment.rounds + 1), seed=1
    )
    return World(setup, plan, runtime)


@pytest.fixture
def make_world() -> Callable[..., World]:
    return world

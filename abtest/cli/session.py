"""One run's surroundings: its folder, its runtime, its survey and its staged arms."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from abtest.cli import preflight, sitting
from abtest.cli.budget import tell_budget
from abtest.cli.choice import Chosen
from abtest.cli.clock import RealClock
from abtest.cli.progress import listening
from abtest.cli.purpose import TO_COMPARE, Purpose
from abtest.cli.results import RunFile, describe, host_name
from abtest.cli.staging import stage_arms
from abtest.cli.tool import tool_facts
from abtest.errors import LOG_PLACE, AbtestError, UsageError
from abtest.ledger import lock, store
from abtest.model.control import COMPARE, SAME_FILE
from abtest.model.sandbox import ImageFacts, ImageRequest
from abtest.model.trial import PlannedTrial, TrialRecord
from abtest.ports import Runtime, TelemetrySource
from abtest.runner.campaign import run_campaign
from abtest.runner.setup import Setup, container_options
from abtest.runner.trial import Ports
from abtest.spec import Experiment, Image, resolve

if TYPE_CHECKING:
    from abtest.runtimes.simulated import Truth

STAGED = "staged"
RECIPE = "image/build.sh"  # `make` runs it too


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says about how to run."""

    simulate: bool = False
    log_json: bool = False
    allow_host_access: bool = False
    budget_s: float | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """A run that is ready: set up, with its runtime open and its ledger locked."""

    setup: Setup
    purpose: Purpose
    runtime: Runtime
    why_runtime: str
    ledger: store.Store
    options: Options
    opened_s: float
    telemetry: TelemetrySource | None = None

    def describe(self, experiment_file: Path) -> RunFile:
        """Describe the run for its `run.json`."""
        relative = os.path.relpath(experiment_file.resolve(), self.ledger.folder.resolve())
        return describe(
            self.setup,
            experiment_path=relative,
            created=RealClock().utc(),
            why_runtime=self.why_runtime,
            purpose=self.purpose,
        )

    def run(self, plan: tuple[PlannedTrial, ...], earlier: tuple[TrialRecord, ...] = ()) -> bool:
        """Run a plan into the ledger; True when all of it was run, False when the time budget ended it."""
        clock = RealClock()
        with (
            listening(as_json=self.options.log_json) as listener,
            sitting.sitting(self.ledger.folder, plan, clock) as ending,
        ):
            ports = Ports(self.runtime, clock, listener, self.telemetry)
            whole = run_campaign(
                self._in_budget(), plan, self.ledger, ports, earlier, started_s=self.opened_s
            )
            ending.how = sitting.FINISHED if whole else sitting.BUDGET
        if not whole:
            tell_budget(self.ledger.folder)
        return whole

    def _in_budget(self) -> Setup:
        """Put the command line's budget in the place of the experiment's own, which it overrules."""
        if self.options.budget_s is None:
            return self.setup
        experiment = self.setup.experiment
        limits = experiment.limits.model_copy(update={"total_s": self.options.budget_s})
        return replace(self.setup, experiment=experiment.model_copy(update={"limits": limits}))


@contextmanager
def session(chosen: Chosen, run_folder: Path, options: Options) -> Iterator[Session]:
    """Lock the folder, open the runtime, survey the image, stage the arms; all of it is closed on any exit.

    Raises:
        LockedError: another run holds the folder.
        InfrastructureError: no runtime, or no image.
        UnprovedError: a target is missing, or a pin does not hold.
        UsageError: two arms are equal.
    """
    experiment = chosen.experiment
    with ExitStack() as stack:
        ledger = stack.enter_context(store.locked(run_folder, RealClock()))
        store.sweep(run_folder)
        work = run_folder / ".work"
        shutil.rmtree(work, ignore_errors=True)  # of a session that was killed
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        work.mkdir(exist_ok=True)
        staged = run_folder / STAGED
        staged.mkdir(exist_ok=True)
        runtime, why = _open_runtime(stack, experiment, run_folder, options, chosen.purpose)
        pythonpath = _pythonpath(experiment, chosen.folder)
        _refuse_foreign_code(experiment, runtime)
        images = survey_arms(experiment, chosen.folder, runtime, pythonpath)
        swaps = stage_arms(
            experiment,
            chosen.folder,
            images,
            staged,
            edits=chosen.edits,
            same_file=chosen.purpose.kind == SAME_FILE,
        )
        setup = Setup(
            run=run_folder.name,
            experiment=experiment,
            images=images,
            pythonpath=pythonpath,
            swaps=swaps,
            secrets=_secrets(experiment, os.environ),
            isolation=runtime.isolation,
            host=host_name(),
            tool=tool_facts(),
        )
        telemetry = machine_of(experiment, options)
        if telemetry is not None:
            preflight.require(experiment, telemetry, run_folder, strict=options.strict)
        opened_s = RealClock().monotonic_s()
        with _log_of_a_bug_in(run_folder):
            yield Session(setup, chosen.purpose, runtime, why, ledger, options, opened_s, telemetry)


@contextmanager
def _log_of_a_bug_in(folder: Path) -> Iterator[None]:
    """Tell whoever reports a bug of ours, or a signal, which run it ended; a bug's log belongs into its folder."""
    try:
        yield
    except AbtestError:
        raise
    except BaseException as error:
        error.add_note(f"{LOG_PLACE}{folder}")
        raise


def machine_of(experiment: Experiment, options: Options) -> TelemetrySource | None:
    """Give what watches this machine; None for a simulation."""
    if options.simulate:  # no machine is measured there, so none is watched
        return None
    from abtest.telemetry.sampler import Machine

    return Machine(experiment.telemetry.period_s)


@contextmanager
def open_images(
    experiment: Experiment, folder: Path, scratch: Path
) -> Iterator[dict[str, ImageFacts]]:
    """Survey an experiment's images without a run; the runtime is open as long as the context.

    Args:
        scratch: an existing private folder.
    """
    with ExitStack() as stack:
        (scratch / ".work").mkdir()
        runtime, _ = _open_runtime(stack, experiment, scratch, Options())
        yield survey_arms(experiment, folder, runtime, _pythonpath(experiment, folder))


def _pythonpath(experiment: Experiment, folder: Path) -> tuple[str, ...]:
    found = (resolve(folder, entry) for entry in experiment.engine.pythonpath)
    return tuple(str(path) for path in found if path)


def survey_arms(
    experiment: Experiment, folder: Path, runtime: Runtime, pythonpath: tuple[str, ...]
) -> dict[str, ImageFacts]:
    """Survey every image once; returns the image of each arm."""
    recipe = folder / RECIPE
    found: dict[Image, ImageFacts] = {}
    images: dict[str, ImageFacts] = {}
    for arm in experiment.arms:
        image = experiment.image_of(arm)
        if image not in found:
            build = None if image.build is None else resolve(folder, image.build)
            found[image] = runtime.survey(
                ImageRequest(
                    image.kind,
                    str(build or image.ref or ""),
                    experiment.engine.python,
                    pythonpath,
                    experiment.targets,
                    container_options(experiment),
                    experiment.container.env,
                    str(recipe) if image == experiment.image and recipe.is_file() else "",
                )
            )
        images[arm] = found[image]
    return images


def _refuse_foreign_code(experiment: Experiment, runtime: Runtime) -> None:
    """Other people's code runs without a container only where that was asked for in so many words."""
    foreign = [
        arm
        for arm, it in experiment.arms.items()
        if any(one.git for one in it.sources("").values())
    ]
    if foreign and runtime.isolation == "process" and experiment.runtime != "process":
        raise UsageError(
            f"arm {foreign[0]} is code from a git repository, and there is no container to hold it",
            remedy="Start a container engine, or say `--runtime process` if you trust that code.",
        )


def _open_runtime(
    stack: ExitStack,
    experiment: Experiment,
    run_folder: Path,
    options: Options,
    purpose: Purpose = TO_COMPARE,
) -> tuple[Runtime, str]:
    if options.simulate:
        from abtest.runtimes.simulated import SimulatedRuntime

        truth = _truth(experiment, purpose)
        simulated = SimulatedRuntime(truth, baseline=experiment.baseline)
        return simulated, "--simulate was given: nothing is measured"
    from abtest.runtimes import choose

    return stack.enter_context(
        choose(
            experiment.runtime,
            run_folder=run_folder,
            is_free=lock.is_free,
            allow_host_access=options.allow_host_access,
        )
    )


def _truth(experiment: Experiment, purpose: Purpose) -> "Truth":
    """Let the simulated machine run the baseline's file twice, held up by what was planted, one call per token."""
    from abtest.runtimes.simulated import ArmTruth, Truth

    truth = Truth()
    if purpose.kind == COMPARE:
        return truth
    plain = truth.other
    base_ms = plain.base_ms_per_token + (purpose.per_call_ms or 0.0)
    second = ArmTruth(base_ms, plain.slope_ms_per_1000)
    return Truth(arms={purpose.second(experiment.baseline): second})


def _secrets(experiment: Experiment, environment: Mapping[str, str]) -> dict[str, str]:
    names = experiment.container.env_pass
    missing = [name for name in names if name not in environment]
    if missing:
        raise UsageError(
            f"container.env_pass: {', '.join(missing)} is not set here",
            remedy="Export it before the run, or remove it from env_pass.",
        )
    return {name: environment[name] for name in names}

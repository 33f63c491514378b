"""`abtest run` and `abtest rerun`: from an experiment or a ledger to more records, and the table."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from abtest.cli import results
from abtest.cli.clock import RealClock
from abtest.cli.session import Options, Session, session
from abtest.errors import LedgerError, UsageError
from abtest.ledger import store
from abtest.model.names import Cell
from abtest.model.trial import PlannedTrial
from abtest.plan import make_plan, seed_of, without
from abtest.runner.resume import check_same, last_round, progress
from abtest.spec import Experiment, load, restrict


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line narrows an experiment to; None leaves it as it is."""

    arms: Sequence[str] | None = None
    depths: Sequence[int] | None = None
    rounds: int | None = None
    runtime: str | None = None


def chosen(path: Path, choice: Choice, *, simulate: bool) -> tuple[Experiment, Path, Path]:
    """Load an experiment and narrow it; returns it with its folder and its file.

    Raises:
        UsageError: the file or the choice is wrong.
    """
    experiment, folder = load(path)
    experiment = restrict(
        experiment,
        arms=choice.arms,
        depths=choice.depths,
        rounds=choice.rounds,
        runtime=choice.runtime,
    )
    if simulate:  # a simulated worker takes no decision that could be recorded
        experiment = experiment.model_copy(update={"routes": None})
    return experiment, folder, path / "experiment.yaml" if path.is_dir() else path


def full_plan(experiment: Experiment) -> tuple[PlannedTrial, ...]:
    """Plan a whole run of an experiment."""
    return make_plan(
        tuple(experiment.arms),
        experiment.conditions,
        range(1, experiment.rounds + 1),
        seed=seed_of(experiment.name),
    )


def start(path: Path, choice: Choice, root: Path, options: Options) -> Path:
    """Run an experiment from its beginning; returns the run's folder."""
    experiment, folder, file = chosen(path, choice, simulate=options.simulate)
    run_folder = root / results.new_name(experiment.name, RealClock())
    _make_folder(run_folder)
    try:
        with session(experiment, folder, run_folder, options) as ready:
            store.write_text(run_folder / store.EXPERIMENT, file.read_text(encoding="utf-8"))
            results.write_run(run_folder, ready.describe(file))
            (run_folder / store.LEDGER).touch()
            results.point_latest(run_folder)
            ready.run(full_plan(experiment))
    finally:
        if not (run_folder / store.RUN).exists():  # it never came to a run
            shutil.rmtree(run_folder, ignore_errors=True)
    return run_folder


def resume(path: Path, choice: Choice, run_folder: Path, options: Options) -> Path:
    """Go on with a run that did not finish, after proving that nothing changed."""
    if (choice.arms, choice.depths, choice.rounds) != (None, None, None):
        raise UsageError(
            "--resume goes on with the plan as it was: --arms, --depths and --rounds cannot be given",
            remedy="Leave them out, or use `abtest rerun` for more rounds.",
        )
    run = results.read_run(run_folder)
    options = _same_kind(run, options)
    wanted = _choice_of(run, choice)
    experiment, folder, _ = chosen(path, wanted, simulate=options.simulate)
    with session(experiment, folder, run_folder, options) as ready:
        contents = _checked(ready, run, run_folder)
        arms = tuple(experiment.arms)
        state = progress(contents.standing, arms)
        for trial in state.leftover:
            ready.ledger.supersede(trial, "its block is run again whole")
        plan = without(full_plan(experiment), set(state.whole))
        results.point_latest(run_folder)
        ready.run(plan, contents.standing)
    return run_folder


def rerun(run_folder: Path, cell: Cell, rounds: int, options: Options) -> Path:
    """Add whole blocks of one condition, all arms, to an existing run."""
    run = results.read_run(run_folder)
    options = _same_kind(run, options)
    _check_cell(run, cell)
    path = Path(os.path.normpath(run_folder / run.experiment_path))
    experiment, folder, _ = chosen(path, _choice_of(run, Choice()), simulate=options.simulate)
    if rounds < 1 or (rounds % 2 and not experiment.allow_unbalanced):
        raise UsageError(
            f"--rounds {rounds}: rounds must be even, so that the order stays balanced",
            remedy="Give an even number, or set `allow_unbalanced: true` in the experiment.",
        )
    with session(experiment, folder, run_folder, options) as ready:
        contents = _checked(ready, run, run_folder)
        first = last_round(contents.standing, cell.condition) + 1
        plan = make_plan(
            tuple(experiment.arms),
            (cell.condition,),
            range(first, first + rounds),
            seed=seed_of(experiment.name),
            first_order=max((record.order for record in contents.records), default=0) + 1,
        )
        results.point_latest(run_folder)
        ready.run(plan, contents.standing)
    return run_folder


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UsageError(
            f"the results folder cannot be made: {error}",
            remedy="Give a folder you may write to with --results.",
        ) from error


def _choice_of(run: results.RunFile, choice: Choice) -> Choice:
    """Narrow the experiment to what the run was started with."""
    depths = tuple(dict.fromkeys(condition.depth for condition in run.conditions))
    runtime = choice.runtime or (run.isolation if run.isolation in ("docker", "process") else None)
    return Choice(tuple(run.arms), depths, run.rounds, runtime)


def _same_kind(run: results.RunFile, options: Options) -> Options:
    if run.isolation == "imported":
        raise UsageError(
            f"{run.run} was imported: there is no experiment to go on with",
            remedy="Measure with `abtest run`; imported figures can only be summarised.",
        )
    simulated = run.isolation == "simulated"
    return replace(options, simulate=simulated)


def _checked(ready: Session, run: results.RunFile, run_folder: Path) -> store.Contents:
    """Prove that the run can be continued: same parts, readable ledger; mend a torn tail."""
    check_same(run.parts, ready.setup.parts)
    contents = store.read(run_folder)
    if contents.faults:
        raise LedgerError(
            f"{run_folder / store.LEDGER}: {contents.faults[0]}"
            + (f" (and {len(contents.faults) - 1} more)" if len(contents.faults) > 1 else ""),
            remedy="Restore the ledger from a copy, or start a new run; nothing was changed.",
        )
    foreign = [
        record.trial for record in contents.records if record.spec_sha256 != ready.setup.spec_sha256
    ]
    if foreign:
        raise LedgerError(
            f"{len(foreign)} records, such as {foreign[0]}, were made with another set-up",
            remedy="Restore the ledger from a copy, or start a new run.",
        )
    if contents.torn is not None:
        ready.ledger.mend_tail()
    return contents


def _check_cell(run: results.RunFile, cell: Cell) -> None:
    if cell.arm not in run.arms or cell.condition not in run.conditions:
        cells = ", ".join(
            str(Cell(arm, condition)) for arm in run.arms for condition in run.conditions
        )
        raise UsageError(
            f"--cell {cell}: this run has no such cell", remedy=f"Its cells are: {cells}."
        )

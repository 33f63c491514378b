"""`abtest run`: from an experiment to records, and on from where a run was stopped."""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

from abtest.cli import results
from abtest.cli.choice import Choice, chosen, full_plan
from abtest.cli.clock import RealClock
from abtest.cli.reopen import reopened
from abtest.cli.session import Options, Session, session
from abtest.errors import NOTHING_BEGUN, UsageError
from abtest.ledger import store
from abtest.model.control import COMPARE
from abtest.model.trial import PlannedTrial, TrialRecord
from abtest.plan import plan_blocks, seed_of, without
from abtest.runner.resume import last_round, progress
from abtest.spec import Experiment

Grow = Callable[[Session], None]


def start(
    path: Path, choice: Choice, root: Path, options: Options, grow: Grow | None = None
) -> Path:
    """Run an experiment from its beginning; returns the run's folder.

    Args:
        grow: adds rounds to the finished plan, in the same session.
    """
    text = _text_of(path)
    picked = chosen(path, choice, simulate=options.simulate)
    if text != _text_of(path):  # the copy beside the ledger must be the text that was read
        raise UsageError(f"{picked.file} was edited while it was read", remedy="Start again.")
    kind = "" if picked.purpose.kind == COMPARE else f"-{picked.purpose.kind}"
    run_folder = root / results.new_name(picked.experiment.name + kind, RealClock())
    _make_folder(run_folder)
    try:
        with session(picked, run_folder, options) as ready:
            results.remove_unborn(root)  # after their containers, which are found by their folders
            store.write_text(run_folder / store.EXPERIMENT, text)
            (run_folder / store.LEDGER).touch()  # before run.json: a run that is one has a ledger
            results.write_run(run_folder, ready.describe(picked.file))
            results.point_latest(run_folder)
            if ready.run(full_plan(picked.experiment)) and grow is not None:
                grow(ready)
    except BaseException as error:
        if not (run_folder / store.RUN).exists():  # it never came to a run
            shutil.rmtree(run_folder, ignore_errors=True)
            error.add_note(NOTHING_BEGUN)
        raise
    return run_folder


def resume(
    path: Path, choice: Choice, run_folder: Path, options: Options, grow: Grow | None = None
) -> Path:
    """Go on with a run that did not finish, after proving that nothing changed."""
    if (choice.arms, choice.depths, choice.rounds) != (None, None, None):
        raise UsageError(
            "--resume goes on with the plan as it was: --arms, --depths and --rounds cannot be given",
            remedy="Leave them out, or use `abtest rerun` for more rounds.",
        )
    with reopened(run_folder, options, path=path, runtime=choice.runtime) as again:
        ready, experiment = again.ready, again.ready.setup.experiment
        state = progress(again.contents.standing, tuple(experiment.arms))
        for trial in state.leftover:
            ready.ledger.supersede(trial, "its block is run again whole")
        plan = without(full_plan(experiment), set(state.whole))
        later = _later_rounds(experiment, again.contents.records, warm_up=not plan)
        plan += without(later, set(state.whole))
        results.point_latest(run_folder)
        if ready.run(plan, again.contents.standing) and grow is not None:
            grow(ready)
    return run_folder


def _later_rounds(
    experiment: Experiment, records: tuple[TrialRecord, ...], *, warm_up: bool
) -> tuple[PlannedTrial, ...]:
    """Plan the rounds beyond the experiment's own that a rerun began: to the end of its last pair of rounds.

    Args:
        records: superseded ones too: what an interrupted resume replaced is still to be run.
    """
    step = 1 if experiment.allow_unbalanced else 2
    ranges = {}
    for condition in experiment.conditions:
        last = last_round(records, condition)
        ranges[condition] = range(experiment.rounds + 1, last + last % step + 1)
    return plan_blocks(
        tuple(experiment.arms),
        ranges,
        seed=seed_of(experiment.name),
        first_order=max((record.order for record in records), default=0) + 1,
        warm_up=warm_up,
    )


def _text_of(path: Path) -> str:
    """Read the experiment's file; one that cannot be read is told by the loader."""
    file = path / "experiment.yaml" if path.is_dir() else path
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO}:
            error.add_note(NOTHING_BEGUN)
            raise  # the disk, not the name that was given
        raise UsageError(
            f"the results folder cannot be made: {error}",
            remedy="Give a folder you may write to with --results.",
        ) from error

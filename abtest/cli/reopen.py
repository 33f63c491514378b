"""A run that exists already, opened again: proved to be unchanged, its ledger mended, ready for more blocks."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from abtest.cli import results
from abtest.cli.choice import Choice, chosen
from abtest.cli.purpose import Purpose
from abtest.cli.session import Options, Session, session
from abtest.errors import LedgerError, UsageError
from abtest.ledger import store
from abtest.ledger.audit import sidecars
from abtest.runner.resume import check_same


@dataclass(frozen=True, slots=True)
class Reopened:
    """A session of an existing run, with what its ledger held."""

    ready: Session
    run: results.RunFile
    contents: store.Contents


@contextmanager
def reopened(
    run_folder: Path, options: Options, *, path: Path | None = None, runtime: str | None = None
) -> Iterator[Reopened]:
    """Open a run again.

    Args:
        path: the experiment; None for the one that the run was started with.

    Raises:
        LedgerError: something changed since the run began, or its ledger cannot be read.
    """
    run = results.read_run(run_folder)
    if run.isolation == "imported":
        raise UsageError(
            f"{run.run} was imported: there is no experiment to go on with",
            remedy="Measure with `abtest run`; imported figures can only be summarised.",
        )
    options = replace(options, simulate=run.isolation == "simulated")
    experiment = path or Path(os.path.normpath(run_folder / run.experiment_path))
    picked = chosen(experiment, _choice_of(run, runtime), simulate=options.simulate)
    with session(picked, run_folder, options) as ready:
        yield Reopened(ready, run, _checked(ready, run, run_folder))


def _choice_of(run: results.RunFile, runtime: str | None) -> Choice:
    """Narrow the experiment to what the run was started with."""
    depths = tuple(dict.fromkeys(condition.depth for condition in run.conditions))
    isolation = run.isolation if run.isolation in ("docker", "process") else None
    purpose = Purpose(run.purpose, run.planted_ms_per_call)
    return Choice(tuple(run.arms), depths, run.rounds, runtime or isolation, purpose)


def _checked(ready: Session, run: results.RunFile, run_folder: Path) -> store.Contents:
    """Prove that the run can be continued: same parts, sound ledger, sidecars as recorded; mend a torn tail."""
    conditions = {"experiment: depths and batches": str(ready.setup.experiment.conditions)}
    check_same(
        {**run.parts, "experiment: depths and batches": str(run.conditions)},
        {**ready.setup.parts, **conditions},
    )
    contents = store.read(run_folder)
    _refuse_if([f"{run_folder / store.LEDGER}: {text}" for text in contents.faults])
    foreign = [
        record.trial for record in contents.records if record.spec_sha256 != ready.setup.spec_sha256
    ]
    if foreign:
        raise LedgerError(
            f"{len(foreign)} records, such as {foreign[0]}, were made with another set-up",
            remedy="Restore the ledger from a copy, or start a new run.",
        )
    _refuse_if([f"{run_folder / store.LEDGER}: {text}" for text in contents.altered])
    _refuse_if([*sidecars(run_folder, contents.standing)])
    if contents.torn is not None:
        ready.ledger.mend_tail()
    return contents


def _refuse_if(found: Sequence[str]) -> None:
    """Refuse to go on with a run that is not as it was written."""
    if found:
        raise LedgerError(
            found[0] + (f" (and {len(found) - 1} more)" if len(found) > 1 else ""),
            remedy="Restore it from a copy, or start a new run; nothing was changed.",
        )

"""What a user sees while trials run: a bar on a terminal, one structured line per event elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from abtest.model.trial import PlannedTrial, TrialRecord
from abtest.ports import Listener

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


def rate_tok_s(record: TrialRecord) -> float | None:
    """Show a trial's rate as it ends: from its mean difference; tables recompute it in their own way."""
    differences = [pair.t_long_s - pair.t_short_s for pair in record.pairs]
    if not differences or sum(differences) <= 0:
        return None
    return (record.tokens[1] - record.tokens[0]) * len(differences) / sum(differences)


class LogListener:
    """One line per event, on stderr; JSON if asked for."""

    def __init__(self, *, as_json: bool) -> None:
        import structlog

        renderer: Any = (
            structlog.processors.JSONRenderer()
            if as_json
            else structlog.dev.ConsoleRenderer(colors=False)
        )
        self._begun = 0  # counted here: a trial's order goes on over reruns, the total does not
        self._log = structlog.wrap_logger(
            structlog.PrintLogger(sys.stderr),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                renderer,
            ],
        )

    def trial_started(self, trial: PlannedTrial, total: int) -> None:
        self._begun += 1
        self._log.info("trial started", trial=trial.name, number=self._begun, total=total)

    def phase(self, trial: PlannedTrial, phase: str) -> None:
        """Phases would drown a log; the trial's own progress file has them."""

    def trial_ended(self, record: TrialRecord) -> None:
        rate = rate_tok_s(record)
        self._log.info(
            "trial ended",
            trial=record.trial,
            status=record.status.value,
            reason=record.reason,
            tok_s=None if rate is None else round(rate, 2),
        )


class BarListener:
    """A bar with the running trial, its phase and the time that is left."""

    def __init__(self, bar: "Progress", task: "TaskID") -> None:
        self._bar = bar
        self._task = task

    def trial_started(self, trial: PlannedTrial, total: int) -> None:
        name = "warm-up of " if trial.discarded else f"round {trial.round}  "
        self._bar.update(self._task, total=total, description=f"{name}{trial.cell}", phase="")

    def phase(self, trial: PlannedTrial, phase: str) -> None:
        del trial  # the description names it already
        self._bar.update(self._task, phase=phase)

    def trial_ended(self, record: TrialRecord) -> None:
        rate = rate_tok_s(record)
        said = record.reason if rate is None else f"{rate:.1f} tok/s"
        kept = " (discarded)" if record.discarded else ""
        self._bar.console.print(
            f"  {record.trial}  {record.status.value}  {said}{kept}", highlight=False, markup=False
        )
        if record.status.value == "ok":
            self._bar.advance(self._task)


@contextmanager
def listening(*, as_json: bool) -> Iterator[Listener]:
    """Choose how to show progress: by stderr being a terminal or not."""
    if as_json or not sys.stderr.isatty():
        yield LogListener(as_json=as_json)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[phase]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield BarListener(bar, bar.add_task("starting", total=None, phase=""))

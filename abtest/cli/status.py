"""`abtest status`: how far a run is, whether it still runs, and what has fired so far; from the folder alone."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from abtest.cli import results, sitting
from abtest.cli.summary import summary_of
from abtest.ledger import lock, store
from abtest.model.trial import TrialRecord
from abtest.plan import make_plan, seed_of
from abtest.report import notes
from abtest.report.neutralise import neutral

NEXT = "go on with `abtest run EXPERIMENT --resume {name}`"


@dataclass(frozen=True, slots=True)
class Where:
    """Where a run stands.

    Args:
        state: "running", "finished", "stopped" or "dead"; a dead one was killed without a word.
        why: how it ended, empty while it runs.
        planned: trials of the newest session, in order.
        left: those without a good record.
        current: folder of the trial that is running; None between two trials.
    """

    state: str
    why: str
    started: str
    planned: tuple[str, ...]
    left: tuple[str, ...]
    current: Path | None


def status_text(folder: Path, now: str) -> str:
    """Write the status, one fact per line.

    Args:
        now: the time of day, as a Clock gives it.

    Raises:
        UsageError: the folder holds no ledger.
        LedgerError: its `run.json` is damaged.
    """
    run = results.read_run(folder)
    records = store.read(folder).standing
    where = _where(folder, run, records)
    lines = [
        f"run: {run.run}",
        f"state: {where.state}{f': {where.why}' if where.why else ''}",
        f"started: {where.started}{_ago(where.started, now)}",
        *_position(where),
        *_time_left(where, records),
        f"records so far: {_counts(records)}",
        *_flags(folder, running=where.state == "running"),
    ]
    if where.state in ("stopped", "dead"):
        lines.append(f"next: {NEXT.format(name=run.run)}")
    return "".join(f"{neutral(line)}\n" for line in lines)


def _where(folder: Path, run: results.RunFile, records: Sequence[TrialRecord]) -> Where:
    session = sitting.read(folder) or sitting.Sitting(run.created, _plan(run), "")
    good = {_base(record.trial) for record in records if record.status.value == "ok"}
    left = tuple(name for name in session.trials if name not in good)
    running = lock.is_held(folder)
    state, why = _state(session, running=running, complete=not left)
    current = _current(folder, records) if running else None
    return Where(state, why, session.started, session.trials, left, current)


def _plan(run: results.RunFile) -> tuple[str, ...]:
    """Plan again what a run without a session file set out to do; imported figures had no plan."""
    if run.isolation == "imported":
        return ()
    rounds = range(1, run.rounds + 1)
    plan = make_plan(tuple(run.arms), run.conditions, rounds, seed=seed_of(run.experiment))
    return tuple(trial.name for trial in plan)


def _state(session: sitting.Sitting, *, running: bool, complete: bool) -> tuple[str, str]:
    if running:
        return "running", ""
    if complete or session.ended == sitting.FINISHED:
        return "finished", ""
    if session.ended is None:
        return "dead", "nothing holds the run's lock and no end was noted: it was killed"
    if session.ended == "":
        return "stopped", "before its plan was done"
    return "stopped", session.ended


def _base(trial: str) -> str:
    """Name the planned trial that a record belongs to; a later attempt has a number behind a dot."""
    name, dot, attempt = trial.rpartition(".")
    return name if dot and attempt.isdecimal() and int(attempt) > 1 else trial


def _current(folder: Path, records: Sequence[TrialRecord]) -> Path | None:
    """Find the newest trial's folder that has no record yet."""
    recorded = {record.trial for record in store.read(folder).records} | {
        record.trial for record in records
    }
    try:
        waiting = [path for path in (folder / "trials").iterdir() if path.name not in recorded]
        return max(waiting, key=lambda path: path.stat().st_ctime, default=None)
    except OSError:
        return None


def _position(where: Where) -> Iterator[str]:
    total, done = len(where.planned), len(where.planned) - len(where.left)
    if total:
        yield f"trials: {done} of {total} done"
    if where.current is not None:
        from abtest.runtimes.outbox import Outbox

        phase, _ = Outbox(where.current).progress()
        yield f"trial: {where.current.name}, phase {phase or 'start'}"


def _time_left(where: Where, records: Sequence[TrialRecord]) -> Iterator[str]:
    """Estimate from this run's own trials: the median of the same cell, else of all."""
    if where.state != "running" or not where.left:
        return
    times: dict[str, list[float]] = {}
    for record in records:
        if record.status.value == "ok":
            times.setdefault(_cell_part(_base(record.trial)), []).append(
                sum(record.phases_s.values())
            )
    if not times:
        yield "left: not known before the first trial has ended"
        return
    everything = statistics.median(value for values in times.values() for value in values)
    total_s = sum(
        statistics.median(found) if (found := times.get(_cell_part(name))) else everything
        for name in where.left
    )
    yield f"left: about {_length(total_s)}, from the trials so far"


def _cell_part(name: str) -> str:
    """Take depth and arm out of a trial's name, such as r01-512-s1-stock; a warm-up has its own time.

    >>> _cell_part("r01-512-s2-stock"), _cell_part("warmup-512-s1-a-b")
    ('r 512 stock', 'warmup 512 a-b')
    """
    kind, condition, _, arm = name.split("-", 3)
    return f"{'r' if kind.startswith('r') else kind} {condition} {arm}"


def _counts(records: Sequence[TrialRecord]) -> str:
    found = Counter(record.status.value for record in records)
    return ", ".join(f"{count} {status}" for status, count in sorted(found.items())) or "none"


def _flags(folder: Path, *, running: bool) -> Iterator[str]:
    summary, _ = summary_of(folder)
    found = [note for note in notes.grouped(summary) if not (running and note.name == "incomplete")]
    if not found:
        yield "flags so far: none"
    for note in found:
        yield f"flag: {note.name} - {', '.join(places for places, _ in note.fired)}"


def _ago(started: str, now: str) -> str:
    try:
        seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(started)).total_seconds()
    except (ValueError, TypeError):
        return ""
    return f", {_length(seconds)} ago" if seconds >= 0 else ""


def _length(seconds: float) -> str:
    """Write a length of time.

    >>> _length(42.2), _length(5400), _length(90000)
    ('42 s', '1 h 30 min', '25 h 0 min')
    """
    if seconds < 120:  # noqa: PLR2004 - two minutes
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004 - an hour

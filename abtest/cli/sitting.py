"""`session.json`: what the newest session of a run set out to do, and how it ended; `abtest status` reads it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from abtest.errors import AbtestError
from abtest.ledger import store
from abtest.model.trial import PlannedTrial
from abtest.ports import Clock

FILE = "session.json"
FINISHED, BUDGET, INTERRUPTED = "finished", "time budget", "interrupted"


@dataclass(frozen=True, slots=True)
class Sitting:
    """One session.

    Args:
        trials: names of the planned trials, in order.
        ended: how it ended; None while it runs, or if it was killed without a word.
    """

    started: str
    trials: tuple[str, ...]
    ended: str | None = None
    ended_at: str | None = None


@dataclass(slots=True)
class Ending:
    """How a session ends, as far as is known; left as it is, an interruption."""

    how: str = INTERRUPTED


@contextmanager
def sitting(folder: Path, plan: Sequence[PlannedTrial], clock: Clock) -> Iterator[Ending]:
    """Note what a session will do, and on any exit how it ended."""
    started = clock.utc()
    names = tuple(trial.name for trial in plan)
    _write(folder, Sitting(started, names))
    ending = Ending()
    try:
        yield ending
    except AbtestError as error:
        ending.how = error.what
        raise
    finally:
        _write(folder, Sitting(started, names, ending.how, clock.utc()))


def read(folder: Path) -> Sitting | None:
    """Read the newest session; None where there is no such file, or none that can be read."""
    try:
        body = json.loads((folder / FILE).read_text(encoding="utf-8"))
        trials = tuple(map(str, body["trials"]))
        return Sitting(str(body["started"]), trials, body["ended"], body["ended_at"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _write(folder: Path, one: Sitting) -> None:
    body = {name: getattr(one, name) for name in Sitting.__dataclass_fields__}
    with suppress(
        OSError
    ):  # a full disk is told by the ledger, whose record counts; this one only informs
        store.write_json(folder / FILE, {"schema": 1, "kind": "session", **body})

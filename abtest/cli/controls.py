"""A/A runs and controls: what one of them exits with, and the last of each for a table's footer."""

from collections import defaultdict
from pathlib import Path

from abtest.cli import results
from abtest.cli.recompute import recompute
from abtest.errors import AbtestError, InconclusiveError, UnprovedError, VerificationFailedError
from abtest.ledger import store
from abtest.model.control import PLANTED, SAME_FILE, LastControl, Outcome
from abtest.model.result import Summary, Verdict

SAME_IMAGE = ("kind", "id", "digest", "fingerprint")


def last_controls(run_folder: Path, run: results.RunFile) -> tuple[LastControl, ...]:
    """Find the newest A/A and the newest control beside a run, for the same image, host and isolation.

    One that measured something comes before a newer one that did not, such as one that was interrupted.
    """
    found: dict[str, list[tuple[Path, results.RunFile]]] = defaultdict(list)
    for path in run_folder.resolve().parent.glob(f"*/{store.RUN}"):
        if path.parent.is_symlink() or path.parent == run_folder.resolve():
            continue
        try:
            other = results.read_run(path.parent)
        except AbtestError:
            continue  # a damaged neighbour is reported when it is used itself
        if _same_place(run, other):
            found[other.purpose].append((path.parent, other))
    return tuple(_last(kind, found[kind]) for kind in (SAME_FILE, PLANTED))


def _same_place(run: results.RunFile, other: results.RunFile) -> bool:
    return (run.host, run.isolation) == (other.host, other.isolation) and all(
        run.image.get(key) == other.image.get(key) for key in SAME_IMAGE
    )


def _last(kind: str, found: list[tuple[Path, results.RunFile]]) -> LastControl:
    newest_first = sorted(found, key=lambda one: one[1].created, reverse=True)
    told = (_told(kind, folder, run) for folder, run in newest_first)
    measured = next((one for one in told if _measured(one)), None)
    if measured is not None or not found:
        return measured or LastControl(kind)
    _, run = newest_first[0]
    return LastControl(kind, run.run, run.created)


def _measured(last: LastControl) -> bool:
    return bool(last.floor) or any(one.outcome is not Outcome.NOT_MEASURED for one in last.control)


def _told(kind: str, folder: Path, run: results.RunFile) -> LastControl:
    try:
        summary = recompute(run, store.read(folder))
    except AbtestError:
        return LastControl(kind, run.run, run.created)
    return LastControl(kind, run.run, run.created, summary.noise_floor, summary.control)


def control_error(purpose: str, summary: Summary) -> AbtestError | None:
    """Choose what an A/A run or a control ends with; None where it did what it should, or is neither."""
    if purpose not in (SAME_FILE, PLANTED):
        return None
    if any(one.verdict is Verdict.INVALID for one in summary.effects):
        return UnprovedError(
            "the trials are not proved: neither a floor nor a planted amount can be judged",
            remedy="Look at the flags above, mend the set-up, and start a new run.",
        )
    return _floor_error(summary) if purpose == SAME_FILE else _planted_error(summary)


def _floor_error(summary: Summary) -> AbtestError | None:
    if not summary.noise_floor:
        return InconclusiveError(
            "no noise floor: no condition has four whole rounds that may be compared",
            remedy="Look at the flags above; give --rounds 4 or more, or --resume what stopped.",
        )
    differing = [str(one.condition) for one in summary.noise_floor if one.differs]
    if not differing:
        return None
    return VerificationFailedError(
        f"the same file in both arms differs at {', '.join(differing)}: by chance one time in twenty per condition, else a bias",
        remedy="Run it again; if it stays, look at the order effect, neighbours, clocks and caches.",
    )


def _planted_error(summary: Summary) -> AbtestError | None:
    by_outcome = {
        outcome: ", ".join(str(one.condition) for one in summary.control if one.outcome is outcome)
        for outcome in Outcome
    }
    if by_outcome[Outcome.MISSED]:
        return VerificationFailedError(
            f"the interval does not hold what was planted, at {by_outcome[Outcome.MISSED]}",
            remedy="Believe no effect of this set-up until it does: does every decode step run the function, is it waited for,"
            " and has each process of the engine a core to itself?",
        )
    open_ = [
        by_outcome[one] for one in (Outcome.TOO_NOISY, Outcome.NOT_MEASURED) if by_outcome[one]
    ]
    if open_ or not summary.control:
        return InconclusiveError(
            f"the planted amount cannot be told from nothing at {', '.join(open_) or 'any condition'}",
            remedy="Plant more with --per-call-ms, or give --rounds 4 or more.",
        )
    return None

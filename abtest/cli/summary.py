"""`abtest summary`: the table again, from the ledger alone."""

import contextlib
import gc
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from abtest.cli import results
from abtest.cli.controls import control_error, last_controls
from abtest.cli.gating import NO_GATES, Gates, check_gates, gate_error, with_gates
from abtest.cli.recompute import recompute
from abtest.errors import AbtestError, InconclusiveError, UsageError
from abtest.ledger import store
from abtest.model.result import Summary

FAULTS_SHOWN = 10  # lines named on stderr; the table counts them all
Format = Literal["table", "markdown", "csv", "json"]


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Stop looking for garbage: all records are alive to the end, and looking costs a third of the time.

    So are the results of a large run while they are printed.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def summary_of(
    run_folder: Path, rounds: tuple[int, int] | None = None
) -> tuple[Summary, results.RunFile]:
    """Recompute a run's summary from its ledger."""
    run = results.read_run(run_folder)
    with _collector_paused():
        summary, faults, torn = _read(run_folder, run, rounds)
    for fault in faults[:FAULTS_SHOWN]:
        print(f"warning: {run_folder / store.LEDGER}: {fault}", file=sys.stderr)
    if len(faults) > FAULTS_SHOWN:
        more = len(faults) - FAULTS_SHOWN
        print(f"warning: and {more} more lines that cannot be read", file=sys.stderr)
    if torn:
        print(
            f"warning: {run_folder / store.LEDGER}: the last line is torn; it is not counted",
            file=sys.stderr,
        )
    return summary, run


def _read(
    run_folder: Path, run: results.RunFile, rounds: tuple[int, int] | None
) -> tuple[Summary, tuple[str, ...], bool]:
    """Give the summary, the faulty lines, and whether the last one is torn; the records are gone when it returns."""
    contents = store.read(run_folder, brief=True)
    faults = (*contents.faults, *contents.altered)
    return recompute(run, contents, rounds), faults, contents.torn is not None


def parse_rounds(text: str | None) -> tuple[int, int] | None:
    """Read `a-b` or `a`.

    Raises:
        UsageError: it is neither.
    """
    if text is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,5})(?:-([1-9][0-9]{0,5}))?", text)
    if found is None or int(found[2] or found[1]) < int(found[1]):
        raise UsageError(
            f"--rounds {text!r} is not a range", remedy="Write such as 1-2, the smaller first."
        )
    return int(found[1]), int(found[2] or found[1])


@_collector_paused()
def show(
    run_folder: Path,
    form: Format,
    rounds: tuple[int, int] | None,
    environment: Mapping[str, str],
    gates: Gates = NO_GATES,
) -> None:
    """Print the summary on stdout.

    Raises:
        InconclusiveError: after printing, if nothing could be compared, or a gate is not decided.
        VerificationFailedError: after printing, if a gate is not met.
        UnprovedError: after printing, if the trials behind a gate are not proved.
    """
    summary, run = whole_of(run_folder, gates, rounds)
    if form == "table":
        print(_table(summary, environment), end="")
        _print_where(run, run_folder)
    else:
        print(_rendered(summary, form, whole=rounds is None), end="")
    end(summary, gates, control_error(run.purpose, summary))


def whole_of(
    run_folder: Path, gates: Gates, rounds: tuple[int, int] | None = None
) -> tuple[Summary, results.RunFile]:
    """Recompute a run's summary with all that stands below its tables: gates, and the last controls beside it.

    Raises:
        UsageError: a gate that could never be judged.
    """
    summary, run = summary_of(run_folder, rounds)
    check_gates(gates, tuple(run.arms), run.baseline, run.conditions)
    summary = with_gates(summary, run_folder, gates, rounds)
    return replace(summary, last_controls=last_controls(run_folder, run)), run


def end(summary: Summary, gates: Gates, other: AbtestError | None = None) -> None:
    """Turn what was printed into the exit code of the command: gates first.

    Args:
        other: what the command ends with otherwise, if its run is no comparison.

    Raises:
        AbtestError: a gate is not met, `other`, or nothing could be compared.
    """
    error = (gate_error(summary.gates) if gates else None) or other
    if error is not None:
        raise error
    need_comparison(summary)


def _rendered(summary: Summary, form: Literal["markdown", "csv", "json"], *, whole: bool) -> str:
    from abtest.report import csvout, jsonout, markdown

    match form:
        case "markdown":
            return markdown.render(summary, whole=whole)
        case "csv":
            return csvout.render(summary)
        case "json":
            return jsonout.render(summary)


def _table(summary: Summary, environment: Mapping[str, str]) -> str:
    """Fit the table to the terminal, or to COLUMNS where stdout is none."""
    from abtest.report import terminal

    color = sys.stdout.isatty() and not environment.get("NO_COLOR")
    columns = environment.get("COLUMNS", "")
    fallback = int(columns) if columns.isdigit() and int(columns) > 0 else 120
    width = shutil.get_terminal_size((fallback, 24)).columns if sys.stdout.isatty() else fallback
    return terminal.render(summary, width=max(width, 60), color=color)


def need_comparison(summary: Summary) -> None:
    """Raise InconclusiveError if nothing could be compared."""
    if not any(effect.speedup is not None for effect in summary.effects):
        raise InconclusiveError(
            "nothing could be compared: no condition has a whole block with a speed-up that may be printed",
            remedy="Look at the flags above; run more rounds, or --resume what stopped.",
        )


def _print_where(run: results.RunFile, run_folder: Path) -> None:
    """Say on stderr-free stdout lines what ran where: part of the result, as a reviewer reads it."""
    print(f"ran on: {run.host}; runtime: {run.isolation} ({run.why_runtime}); abtest {run.abtest}")
    print(f"ledger: {run_folder / store.LEDGER}")

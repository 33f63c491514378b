"""Commands that read a run's folder."""

from pathlib import Path
from typing import Annotated

import typer

from abtest.cli.app import (
    LAST_LOOK,
    RESULTS,
    FormatName,
    GateRounds,
    GateTexts,
    ResultsName,
    Root,
    app,
    gates_of,
    show,
)
from abtest.errors import UsageError


@app.command()
def summary(
    run_name: ResultsName = "latest",
    form: Annotated[
        FormatName, typer.Option("--format", help="How to write it.")
    ] = FormatName.TABLE,
    rounds: Annotated[str | None, typer.Option(help="Only these rounds, such as 1-2.")] = None,
    gate: GateTexts = None,
    gate_rounds: GateRounds = LAST_LOOK,
    results: Root = RESULTS,
) -> None:
    """Print the table again, from the ledger."""
    from abtest.cli import results as folders

    gates = gates_of(gate, gate_rounds)
    show(folders.find(run_name, results), form, rounds, gates)


@app.command()
def export(
    run_name: ResultsName = "latest",
    pull_request: Annotated[
        bool, typer.Option("--pr", help="GitHub Markdown for a pull-request comment.")
    ] = False,
    aa: Annotated[
        str | None, typer.Option("--aa", help="An A/A run of the same set-up: the noise floor.")
    ] = None,
    gate: GateTexts = None,
    gate_rounds: GateRounds = LAST_LOOK,
    results: Root = RESULTS,
) -> None:
    """Print a run for others to read; only the text goes to stdout."""
    from abtest.cli import results as folders
    from abtest.cli.export import show_pull_request

    if not pull_request:
        raise UsageError("export: no form was asked for", remedy="Write `abtest export RUN --pr`.")
    folder = folders.find(run_name, results)
    floor = None if aa is None else folders.find(aa, results)
    show_pull_request(folder, floor, gates_of(gate, gate_rounds))


@app.command()
def verify(
    run_name: ResultsName = "latest",
    documents: Annotated[
        list[Path] | None, typer.Argument(help="Markdown files whose quoted figures must hold.")
    ] = None,
    results: Root = RESULTS,
) -> None:
    """Audit a run's folder and recompute every figure that documents quote from it (docs/verify.md)."""
    from abtest.cli import verify as verifying

    run_folder, beside = verifying.locate(run_name, results)
    verifying.show(run_folder, beside, documents or [])


@app.command()
def report(
    run_name: ResultsName = "latest",
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; report.html in the run's folder if not given."),
    ] = None,
    gate: GateTexts = None,
    gate_rounds: GateRounds = LAST_LOOK,
    results: Root = RESULTS,
) -> None:
    """Write the run as one self-contained HTML page, and print its path."""
    from abtest.cli import results as folders
    from abtest.cli.report import write_report

    write_report(folders.find(run_name, results), out, gates_of(gate, gate_rounds))


@app.command()
def status(run_name: ResultsName = "latest", results: Root = RESULTS) -> None:
    """Tell how far a run is, whether it still runs, and what has fired so far."""
    from abtest.cli import results as folders
    from abtest.cli.clock import RealClock
    from abtest.cli.status import status_text

    print(status_text(folders.find(run_name, results), RealClock().utc()), end="")


@app.command()
def diff(
    run_name: ResultsName,
    left: Annotated[str, typer.Argument(help="A trial, such as r01-8192-s1-stock.")],
    right: Annotated[str, typer.Argument(help="The trial to hold against it.")],
    results: Root = RESULTS,
) -> None:
    """Tell what differs between the records of two trials."""
    from abtest.cli import results as folders
    from abtest.cli.diff import diff_text

    print(diff_text(folders.find(run_name, results), left, right), end="")

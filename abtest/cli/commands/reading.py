"""Commands that read a run's folder."""

from typing import Annotated

import typer

from abtest.cli.app import RESULTS, FormatName, ResultsName, Root, app, show


@app.command()
def summary(
    run_name: ResultsName = "latest",
    form: Annotated[
        FormatName, typer.Option("--format", help="How to write it.")
    ] = FormatName.TABLE,
    rounds: Annotated[str | None, typer.Option(help="Only these rounds, such as 1-2.")] = None,
    results: Root = RESULTS,
) -> None:
    """Print the table again, from the ledger."""
    from abtest.cli import results as folders

    show(folders.find(run_name, results), form, rounds)

"""Commands that run trials."""

from typing import Annotated

import typer

from abtest.cli.app import (
    RESULTS,
    ExperimentPath,
    FormatName,
    HostAccess,
    LogJson,
    ResultsName,
    Root,
    RuntimeName,
    Strict,
    app,
    names,
    need_linux,
    numbers,
    session_options,
    show,
)
from abtest.errors import UsageError


@app.command()
def run(
    experiment: ExperimentPath,
    arms: Annotated[
        str | None, typer.Option(help="Comma-separated arms, the baseline among them.")
    ] = None,
    depths: Annotated[str | None, typer.Option(help="Comma-separated context depths.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds, an even number.")] = None,
    runtime: Annotated[RuntimeName | None, typer.Option(help="Where trials run.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the order of trials and an estimate.")
    ] = False,
    resume: Annotated[
        str | None, typer.Option(help="Go on with this run, after proving nothing changed.")
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="A machine with a known truth; nothing is measured.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Stop after the block in which this much time is used up, such as 6h, 90m or 1h30m."
        ),
    ] = None,
    results: Root = RESULTS,
    log_json: LogJson = False,
    allow_host_access: HostAccess = False,
    strict: Strict = False,
) -> None:
    """Plan an experiment, run it in fresh sandboxes, print the table."""
    from abtest.cli import results as folders
    from abtest.cli import run as commands
    from abtest.cli.dry import dry_run_text

    choice = commands.Choice(
        names(arms),
        numbers("--depths", depths),
        rounds,
        None if runtime is None else runtime.value,
    )
    if dry_run:
        narrowed, _, _ = commands.chosen(experiment, choice, simulate=simulate)
        print(dry_run_text(narrowed, commands.full_plan(narrowed), results), end="")
        return
    options = session_options(
        simulate=simulate,
        log_json=log_json,
        allow_host_access=allow_host_access,
        budget=budget,
        strict=strict,
    )
    need_linux()
    if resume is None:
        folder = commands.start(experiment, choice, results, options)
    else:
        folder = commands.resume(experiment, choice, folders.find(resume, results), options)
    show(folder, FormatName.TABLE, None)


@app.command()
def rerun(
    run_name: ResultsName,
    cell: Annotated[str, typer.Option(help="The suspicious cell, such as splitkv@8192.")],
    rounds: Annotated[int, typer.Option(help="Rounds to add, an even number.")] = 2,
    results: Root = RESULTS,
    log_json: LogJson = False,
    allow_host_access: HostAccess = False,
    strict: Strict = False,
) -> None:
    """Add whole blocks, all arms in mirrored order, for one cell's condition."""
    from abtest.cli import results as folders
    from abtest.cli import run as commands
    from abtest.model.names import Cell

    try:
        wanted = Cell.parse(cell)
    except ValueError as error:
        raise UsageError(f"--cell: {error}", remedy="Name a cell of the run's table.") from error
    options = session_options(
        simulate=False, log_json=log_json, allow_host_access=allow_host_access, strict=strict
    )
    need_linux()
    folder = commands.rerun(folders.find(run_name, results), wanted, rounds, options)
    show(folder, FormatName.TABLE, None)

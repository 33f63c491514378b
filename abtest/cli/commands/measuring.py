"""Commands that run trials."""

from functools import partial
from typing import Annotated

import typer

from abtest.cli.app import (
    LAST_LOOK,
    RESULTS,
    ExperimentPath,
    FormatName,
    GateRounds,
    GateTexts,
    HostAccess,
    LogJson,
    ResultsName,
    Root,
    RuntimeName,
    Strict,
    app,
    gates_of,
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
    gate: GateTexts = None,
    gate_rounds: GateRounds = LAST_LOOK,
    results: Root = RESULTS,
    log_json: LogJson = False,
    allow_host_access: HostAccess = False,
    strict: Strict = False,
) -> None:
    """Plan an experiment, run it in fresh sandboxes, print the table."""
    from abtest.cli import results as folders
    from abtest.cli import run as commands
    from abtest.cli.choice import Choice, chosen, full_plan
    from abtest.cli.dry import dry_run_text
    from abtest.cli.gating import check_gates
    from abtest.cli.growth import grow_for_gates

    gates = gates_of(gate, gate_rounds)
    choice = Choice(
        names(arms),
        numbers("--depths", depths),
        rounds,
        None if runtime is None else runtime.value,
    )
    narrowed = chosen(experiment, choice, simulate=simulate).experiment
    check_gates(gates, tuple(narrowed.arms), narrowed.baseline, narrowed.conditions)
    if dry_run:
        print(dry_run_text(narrowed, full_plan(narrowed), results), end="")
        return
    options = session_options(
        simulate=simulate,
        log_json=log_json,
        allow_host_access=allow_host_access,
        budget=budget,
        strict=strict,
    )
    need_linux()
    grow = partial(grow_for_gates, gates=gates) if gates else None
    if resume is None:
        folder = commands.start(experiment, choice, results, options, grow)
    else:
        folder = commands.resume(experiment, choice, folders.find(resume, results), options, grow)
    show(folder, FormatName.TABLE, None, gates)


@app.command()
def rerun(
    run_name: ResultsName,
    cell: Annotated[
        str | None, typer.Option(help="The suspicious cell, such as splitkv@8192.")
    ] = None,
    suspicious: Annotated[
        bool,
        typer.Option(
            "--suspicious", help="Every suspicious cell, with looks at 4, 8 and 12 rounds."
        ),
    ] = False,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds to add for --cell, an even number; 2 if not given.")
    ] = None,
    results: Root = RESULTS,
    log_json: LogJson = False,
    allow_host_access: HostAccess = False,
    strict: Strict = False,
) -> None:
    """Add whole blocks, all arms in mirrored order, for one cell's condition or for every suspicious one."""
    from abtest.cli import rerun as commands
    from abtest.cli import results as folders

    if (cell is None) != suspicious or (suspicious and rounds is not None):
        raise UsageError(
            "a rerun is of one cell, with its rounds, or of the suspicious ones, whose rounds follow from a rule",
            remedy="Give --cell with --rounds, or --suspicious alone.",
        )
    options = session_options(
        simulate=False, log_json=log_json, allow_host_access=allow_host_access, strict=strict
    )
    need_linux()
    folder = folders.find(run_name, results)
    if cell is None:
        commands.rerun_suspicious(folder, options)
    else:
        commands.rerun(folder, commands.parse_cell(cell), 2 if rounds is None else rounds, options)
    show(folder, FormatName.TABLE, None)

"""`abtest rerun`: more blocks for one cell's condition, or for every suspicious one by a fixed rule."""

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from abtest.analysis.looks import next_rounds, suspicions
from abtest.cli import results
from abtest.cli.growth import add_rounds, note_look
from abtest.cli.reopen import reopened
from abtest.cli.session import Options, Session
from abtest.cli.summary import summary_of
from abtest.errors import UsageError
from abtest.model.names import Cell, Condition
from abtest.model.result import CellSummary
from abtest.plan import plan_blocks, seed_of
from abtest.runner.resume import last_round
from abtest.spec.load import balanced


def rerun(run_folder: Path, cell: Cell, rounds: int, options: Options) -> Path:
    """Add whole blocks of one condition, all arms, to an existing run."""
    _check_cell(results.read_run(run_folder), cell)
    with reopened(run_folder, options) as again:
        ready, records = again.ready, again.contents.records
        experiment = ready.setup.experiment
        first = last_round(again.contents.standing, cell.condition) + 1
        plan = plan_blocks(
            tuple(experiment.arms),
            {cell.condition: range(first, first + balanced(experiment, rounds))},
            seed=seed_of(experiment.name),
            first_order=max((record.order for record in records), default=0) + 1,
        )
        results.point_latest(run_folder)
        ready.run(plan, again.contents.standing)
    return run_folder


def rerun_suspicious(run_folder: Path, options: Options) -> Path:
    """Add rounds for the conditions of suspicious cells, look after look, until the rule says stop."""
    cells = summary_of(run_folder)[0].cells
    wanted = _wanted(cells)
    if not wanted:
        print("no cell is suspicious and has a look left: nothing was run", file=sys.stderr)
        return run_folder
    with reopened(run_folder, options) as again:
        results.point_latest(run_folder)
        watched = _note(again.ready, cells, wanted, ())
        warm_up = True
        while wanted and add_rounds(again.ready, wanted, warm_up=warm_up):
            cells, warm_up = summary_of(run_folder)[0].cells, False
            before, wanted = wanted, _wanted(cells)
            here = [one for one in cells if one.cell.condition in before]
            watched = _note(again.ready, here, wanted, watched)
    return run_folder


def _wanted(cells: Sequence[CellSummary]) -> dict[Condition, int]:
    """Give the rounds of the next look per condition; one suspicious cell asks for blocks of all arms."""
    wanted: dict[Condition, int] = {}
    for one in cells:
        rounds = next_rounds(one)
        if rounds is not None:
            wanted[one.cell.condition] = max(rounds, wanted.get(one.cell.condition, 0))
    return wanted


def _note(
    ready: Session,
    cells: Sequence[CellSummary],
    wanted: Mapping[Condition, int],
    watched: Collection[Cell],
) -> set[Cell]:
    """Record a look at every cell that is suspicious, or was: a reader must know how often was looked."""
    seen = {one.cell for one in cells if suspicions(one)}
    for one in cells:
        if one.cell in seen or one.cell in watched:
            names = ", ".join(suspicions(one)) or "ok"
            rounds = wanted.get(one.cell.condition)
            then = "no more rounds" if rounds is None else f"rounds added, to {rounds}"
            note_look(ready, f"{one.cell} at n = {one.n}: {names}; {then}")
    return seen | set(watched)


def _check_cell(run: results.RunFile, cell: Cell) -> None:
    if cell.arm not in run.arms or cell.condition not in run.conditions:
        cells = ", ".join(
            str(Cell(arm, condition)) for arm in run.arms for condition in run.conditions
        )
        raise UsageError(
            f"--cell {cell}: this run has no such cell", remedy=f"Its cells are: {cells}."
        )


def parse_cell(text: str) -> Cell:
    """Read `--cell`.

    Raises:
        UsageError: it is no cell's name.
    """
    try:
        return Cell.parse(text)
    except ValueError as error:
        raise UsageError(f"--cell: {error}", remedy="Name a cell of the run's table.") from error

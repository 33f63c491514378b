"""What every foreign format comes down to: rows, checked against each other, then records."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from abtest.errors import UsageError
from abtest.model.names import ARM_NAME, Cell, Condition
from abtest.model.trial import Pair, PlannedTrial, Status, TrialRecord

ISOLATION = "imported"
WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
MOST = 999_999_999  # the largest of them
SHORTEST_S, LONGEST_S = (
    1e-9,
    1e8,
)  # the tick of a clock, and three years: beyond them nothing was timed


@dataclass(frozen=True, slots=True)
class Row:
    """One foreign measurement of one cell.

    Args:
        line: its line in the file, from 1.
        tokens: (n_short, n_long) of its pairs.
        facts: what the file says of the set-up, by name.
    """

    line: int
    cell: Cell
    round: int
    slot: int
    tokens: tuple[int, int]
    pairs: tuple[Pair, ...]
    started_at: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Foreign:
    """What a file held.

    Args:
        rows: in time order.
        arms: in the order of their first row; the first is the baseline unless someone says otherwise.
        declared: per arm, the arguments that make it that arm; empty where the file names arms only.
        left_out: what was not taken, each with its count and reason.
    """

    rows: tuple[Row, ...]
    arms: tuple[str, ...]
    declared: Mapping[str, Mapping[str, str]]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a foreign file, for messages."""

    source: str
    line: int

    def refuse(self, what: str, remedy: str) -> UsageError:
        """Make the error; the caller raises it."""
        return UsageError(f"{self.source}, line {self.line}: {what}", remedy=remedy)

    def arm(self, name: str) -> str:
        """Check an arm's name."""
        if ARM_NAME.fullmatch(name) is None:
            raise self.refuse(
                f"{name!r} cannot name an arm",
                "Use up to 32 small letters, digits, dots, dashes and underscores.",
            )
        return name

    def seconds(self, name: str, value: float) -> float:
        """Check a wall time: one that a clock can have measured."""
        if not SHORTEST_S <= value <= LONGEST_S:  # nor is what is no number
            raise self.refuse(
                f"{name} is {value}, not a time",
                "A run that failed has no time: leave its whole line out, and say so beside the table.",
            )
        return value


def arranged(source: str, rows: Sequence[Row]) -> tuple[Row, ...]:
    """Bring rows into time order: by round, then as the file has the blocks, then by slot.

    Raises:
        UsageError: two rows claim the same cell and round, or the same slot of a block.
    """
    cells: dict[tuple[int, Cell], int] = {}
    slots: dict[tuple[int, Condition, int], int] = {}
    blocks: dict[tuple[int, Condition], int] = {}
    for row in rows:
        place, block = Place(source, row.line), (row.round, row.cell.condition)
        first = cells.setdefault((row.round, row.cell), row.line)
        if first != row.line:
            raise place.refuse(
                f"{row.cell} in round {row.round} stands in line {first} already",
                "Number the rounds, or remove the double.",
            )
        first = slots.setdefault((*block, row.slot), row.line)
        if first != row.line:
            raise place.refuse(
                f"place {row.slot} of round {row.round} at {row.cell.condition} is taken by line {first}",
                "Give each arm its own place in the order in which it ran.",
            )
        blocks.setdefault(block, len(blocks))
    return tuple(
        sorted(rows, key=lambda row: (row.round, blocks[row.round, row.cell.condition], row.slot))
    )


def records(foreign: Foreign, run: str, sha256: str) -> tuple[TrialRecord, ...]:
    """Write rows as records: no identity, no routes, nothing that was not measured here.

    Args:
        run: the name of the run's folder.
        sha256: of the foreign file, the only proof of where the figures come from.
    """
    return tuple(
        TrialRecord(
            run=run,
            trial=PlannedTrial(row.cell, row.round, row.slot, order).name,
            spec_sha256=sha256,
            arm=row.cell.arm,
            depth=row.cell.condition.depth,
            batch=row.cell.condition.batch,
            round=row.round,
            slot=row.slot,
            order=order,
            discarded=False,
            status=Status.OK,
            started_at=row.started_at,
            isolation=ISOLATION,
            tokens=row.tokens,
            flags=(ISOLATION,),
            pairs=row.pairs,
            environment=row.facts,
        )
        for order, row in enumerate(foreign.rows, start=1)
    )

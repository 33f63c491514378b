"""A gate: what a continuous integration asks of a candidate, and what the rounds answered at each look."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from abtest.model.names import Cell, Condition

_GATE = re.compile(
    r"(?P<arm>[a-z0-9][a-z0-9._-]{0,31})@(?P<depth>\*|[1-9][0-9]{0,8})(?:x(?P<batch>[1-9][0-9]{0,4}))?"
    r"\s*>=\s*(?P<ratio>[0-9]{1,6}(?:\.[0-9]{1,9})?)"
)


class Decision(StrEnum):
    """What a gate came to."""

    MET = "met"
    NOT_MET = "not met"
    INCONCLUSIVE = "inconclusive"
    UNPROVED = "unproved"


@dataclass(frozen=True, slots=True)
class Gate:
    """At least this speed-up over the baseline, at one depth or at all of them.

    Args:
        depth: None for every depth.
        batch: None for every batch, which only a gate on every depth can leave open.
        ratio: candidate over baseline.

    >>> str(Gate.parse("splitkv@* >= 1.05"))
    'splitkv@*>=1.05'
    """

    arm: str
    depth: int | None
    batch: int | None
    ratio: float

    def __str__(self) -> str:
        implied = 1 if self.depth is not None else None
        batch = "" if self.batch == implied else f"x{self.batch}"
        return f"{self.arm}@{self.depth or '*'}{batch}>={self.ratio!r}"

    @classmethod
    def parse(cls, text: str) -> "Gate":
        """Read `arm@depth>=ratio`; `*` stands for every depth, `xB` behind it for one batch.

        Raises:
            ValueError: the text is no gate, or asks for nothing.
        """
        found = _GATE.fullmatch(text.strip())
        if found is None or float(found["ratio"]) <= 0:
            msg = f"{text!r} is not a gate; write ARM@DEPTH>=RATIO, such as splitkv@8192>=1.05, or splitkv@*>=1.05"
            raise ValueError(msg)
        depth = None if found["depth"] == "*" else int(found["depth"])
        batch = found["batch"] or (None if depth is None else "1")
        return cls(
            found["arm"], depth, None if batch is None else int(batch), float(found["ratio"])
        )

    def cells(self, conditions: Sequence[Condition]) -> tuple[Cell, ...]:
        """List the cells it is about, among the conditions of a run."""
        return tuple(
            Cell(self.arm, condition)
            for condition in conditions
            if self.depth in (None, condition.depth) and self.batch in (None, condition.batch)
        )


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the rounds so far.

    Args:
        rounds: how many whole blocks it rests on.
        ratio: geometric mean of the ratios of rounds; None where nothing may be compared.
        low: lower limit of the ratio at `level`; `high` the upper one.
        level: chance per side of each limit to be wrong.
        note: what the limits rest on where it is not the plain rule, or why there are none.
    """

    rounds: int
    ratio: float | None
    low: float | None
    high: float | None
    level: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class GateResult:
    """One gate at one cell.

    Args:
        looks: in order; the last one is the one that decided, if any did.
        rounds: whole blocks of the cell's condition that were there.
        next_rounds: how many rounds the next look needs; None where more rounds cannot help, or are not allowed.
        why: one sentence.
    """

    gate: Gate
    cell: Cell
    decision: Decision
    looks: tuple[Look, ...]
    rounds: int
    next_rounds: int | None
    why: str

"""How cells are named: `arm@depth`, with `xB` behind it for a batch other than one."""

import re
from dataclasses import dataclass
from functools import cache

ARM_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")
_CELL = re.compile(
    r"(?P<arm>[a-z0-9][a-z0-9._-]{0,31})@(?P<depth>0|[1-9][0-9]{0,8})(?:x(?P<batch>[1-9][0-9]{0,4}))?"
)


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """What is varied besides the arm.

    Args:
        depth: tokens in the KV cache when decoding starts.
        batch: sequences decoded together.
    """

    depth: int
    batch: int = 1

    def __str__(self) -> str:
        return f"{self.depth}" if self.batch == 1 else f"{self.depth}x{self.batch}"


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One box of the results table.

    >>> str(Cell.parse("splitkv@8192x4"))
    'splitkv@8192x4'
    """

    arm: str
    condition: Condition

    def __str__(self) -> str:
        return f"{self.arm}@{self.condition}"

    @classmethod
    def parse(cls, text: str) -> "Cell":
        """Read `arm@depth` or `arm@depthxbatch`.

        Raises:
            ValueError: the text is not the name of a cell.
        """
        found = _CELL.fullmatch(text)
        if found is None:
            msg = (
                f"{text!r} is not a cell; write ARM@DEPTH or ARM@DEPTHxBATCH, such as splitkv@8192"
            )
            raise ValueError(msg)
        return cls(found["arm"], Condition(int(found["depth"]), int(found["batch"] or 1)))


@cache
def condition_of(depth: int, batch: int) -> Condition:
    """Give the one object for this condition: 100 000 records ask a million times."""
    return Condition(depth, batch)


@cache
def cell_of(arm: str, depth: int, batch: int) -> Cell:
    """Give the one object for this cell."""
    return Cell(arm, condition_of(depth, batch))

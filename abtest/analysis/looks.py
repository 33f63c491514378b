"""When a suspicious cell has been looked at often enough: looks at 4, 8 and 12 rounds, decided beforehand.

Whoever reruns until a cell is fine will find it fine: the looks are few, fixed, and each is recorded.
"""

from abtest.analysis.verdict import DISTURBED
from abtest.model.result import CellSummary

LOOKS = (4, 8, 12)
EXPLAINED = frozenset({"bimodal", "drift", "outlier"})
EXPLAINED_FROM = 8  # rounds; before, such a name is still given by chance too often


def suspicions(cell: CellSummary) -> tuple[str, ...]:
    """Name the flags that make a cell suspicious, in the order in which they were found."""
    return tuple(one.name for one in cell.flags if one.name in DISTURBED)


def next_rounds(cell: CellSummary) -> int | None:
    """Tell how many rounds the next look at a cell needs; None where it is over.

    It is over when nothing is suspicious, when a name explains the spread at eight rounds or more, and at the last look.
    """
    names = suspicions(cell)
    if not names or (cell.n >= EXPLAINED_FROM and EXPLAINED.intersection(names)):
        return None
    return next((count for count in LOOKS if count > cell.n), None)

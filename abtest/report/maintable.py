"""The main table as Markdown: one row per condition and candidate, under a marker by which it can be verified."""

from urllib.parse import quote

from abtest.model.result import Summary
from abtest.report import gfm
from abtest.report.conditions import ConditionRow, conditions, speedup
from abtest.report.figures import DASH
from abtest.report.view import View

MARKER = "ab: table"


def marker(run: str) -> str:
    """Name the run in a comment; written so that no name can end the comment.

    >>> marker("demo-->1")
    '<!-- ab: table demo-%2D%3E1 -->'
    """
    return f"<!-- {MARKER} {quote(run, safe='').replace('--', '-%2D')} -->"


def table_cells(
    summary: Summary, shown: View
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Give head and rows of the main table as Markdown; the first column names the candidate's cell."""
    old, new = gfm.escape(summary.baseline), "candidate"
    others = [arm for arm in summary.arms if arm != summary.baseline]
    if len(others) == 1:
        new = gfm.escape(others[0])
    head = (
        "cell", f"{old} tok/s (ms)", f"{new} tok/s (ms)", "speed-up", "interval", "verdict",
        f"spread {old}, {new}", "n", "voids", "flags",
    )  # fmt: skip
    return head, tuple(_row(row) for row in conditions(summary, shown))


def _row(row: ConditionRow) -> tuple[str, ...]:
    ratio = gfm.escape(speedup(row))
    return (
        gfm.code(row.new.cell),
        gfm.escape(f"{row.old.mean} ({row.old.ms})"),
        gfm.escape(f"{row.new.mean} ({row.new.ms})"),
        f"**{ratio}**" if row.claimed else ratio,
        gfm.escape(row.effect.interval),
        gfm.escape(row.verdict),
        gfm.escape(f"{row.old.spread}, {row.new.spread}"),
        gfm.escape(row.effect.rounds),
        gfm.escape(row.voids),
        gfm.escape(row.effect.flags) or DASH,
    )


def table(summary: Summary, shown: View, most: int | None = None, *, marked: bool = True) -> str:
    """Write the main table under its marker.

    Args:
        most: how many rows there is room for; None for all.
        marked: whether the table is of the whole run; only then can it be verified.
    """
    head, rows = table_cells(summary, shown)
    kept = rows if most is None else rows[:most]
    text = gfm.table(head, kept, frozenset((1, 2, 3, 7, 8)))
    if cut := len(rows) - len(kept):
        return f"{text}\n{cut} rows more are left out for length.\n"
    return f"{marker(summary.run)}\n{text}" if marked else text

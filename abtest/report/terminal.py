"""A summary for the terminal: what ran, each cell with every round, each effect, and what the flags mean."""

import io

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from abtest.model.result import Summary
from abtest.report.view import View, view

NARROW = 100
NO_NUMBER = "n is the number of rounds that count; speed-up is the ratio of mean rates, candidate over baseline."


def render(summary: Summary, *, width: int, color: bool) -> str:
    """Write the summary at a width in columns; text wraps, nothing is cut."""
    shown = view(summary)
    buffer = io.StringIO()
    console = Console(
        file=buffer, width=width, force_terminal=color, no_color=not color, color_system="standard" if color else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    console.print(Text(shown.title, style="bold"))
    for name, text in shown.facts:
        console.print(Text(f"{name}: {text}"))
    console.print()
    console.print(_cells(shown, narrow=width < NARROW))
    console.print(_effects(shown))
    console.print(Text(NO_NUMBER, style="dim"))
    for note in shown.notes:
        console.print(Padding(Text(f"* {note}"), (0, 0, 0, 0)))
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def _table(*columns: tuple[str, bool]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name, right in columns:
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table


def _cells(shown: View, *, narrow: bool) -> Table:
    table = _table(
        ("cell", False),
        ("tok/s by round, in time order", False),
        ("mean" if narrow else "mean tok/s", True),
        ("ms/tok" if narrow else "ms per token", True),
        ("spread", True),
        ("lever" if narrow else "leverage", True),
        ("flags", False),
    )
    for row in shown.cells:
        table.add_row(
            *(
                Text(text)
                for text in (
                    row.cell,
                    row.rates,
                    row.mean,
                    row.ms,
                    row.spread,
                    row.leverage,
                    row.flags,
                )
            )
        )
    return table


def _effects(shown: View) -> Table:
    table = _table(
        ("depth", True), ("candidate / baseline", False), ("speed-up", True), ("interval", False), ("n", True), ("verdict", False), ("flags", False)
    )  # fmt: skip
    for row in shown.effects:
        style = {"faster": "green", "slower": "red"}.get(row.verdict, "yellow")
        cells = (row.condition, row.arms, row.speedup, row.interval, row.rounds)
        table.add_row(
            *(Text(text) for text in cells), Text(row.verdict, style=style), Text(row.flags)
        )
    return table

"""A summary for the terminal: what ran, each cell with every round, each effect, and what the flags mean."""

import io
from collections.abc import Iterable, Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from abtest.model.result import Summary
from abtest.report.view import EffectRow, View, view

NARROW = 100  # columns; below, flags move below names and effects become lines
TINY = 78  # below, cells become lines too
LONGEST_WORD = (
    24  # kept whole in a column; a longer name is folded, so that no column is pushed out
)
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
    console.print(_cell_lines(shown) if width < TINY else _cells(shown, narrow=width < NARROW))
    console.print(_effect_lines(shown) if width < NARROW else _effects(shown))
    if shown.depth:
        console.print(_depth(shown))
    elif width < NARROW:
        console.print()
    console.print(Text(NO_NUMBER, style="dim"))
    for line in shown.limits:
        console.print(Text(line))
    if shown.notes:
        console.print(_notes(shown))
    for line in (*shown.gates, *shown.footer):
        console.print(Text(line))
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def _table(*columns: tuple[str, bool], words: Mapping[int, Iterable[str]] | None = None) -> Table:
    """Make a table.

    Args:
        columns: the header, and whether the column stands to the right.
        words: texts of columns, by place, whose longest word must not be split.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place, (name, right) in enumerate(columns):
        texts = (words or {}).get(place, ())
        longest = max((len(word) for text in texts for word in text.split()), default=0)
        least = min(longest, LONGEST_WORD)
        table.add_column(
            name, justify="right" if right else "left", overflow="fold", min_width=least or None
        )
    return table


def _cells(shown: View, *, narrow: bool) -> Table:
    """Lay out one row per cell; where there is little room the flags stand below the cell's name."""
    flags = [row.flags for row in shown.cells]
    table = _table(
        ("cell, flags" if narrow else "cell", False),
        ("tok/s by round, in time order", False),
        ("mean" if narrow else "mean tok/s", True),
        ("ms/tok" if narrow else "ms per token", True),
        ("spread", True),
        ("lever" if narrow else "leverage", True),
        *(() if narrow else (("flags", False),)),
        words={0: [*flags, *(row.cell for row in shown.cells)]} if narrow else {6: flags},
    )
    for row in shown.cells:
        name = f"{row.cell}\n{row.flags}" if narrow and row.flags else row.cell
        middle = (row.rates, row.mean, row.ms, row.spread, row.leverage)
        texts = (name, *middle) if narrow else (name, *middle, row.flags)
        table.add_row(*(Text(text) for text in texts))
    return table


def _depth(shown: View) -> Table:
    table = _table(
        ("arm", False),
        ("depths", False),
        ("retention of tok/s", False),
        ("slope, ms/tok per 1000 tokens", False),
        ("least squares", False),
    )
    for row in shown.depth:
        cells = (row.arm, row.depths, row.retention, row.slope, row.least_squares)
        table.add_row(*(Text(text) for text in cells))
    return table


def _notes(shown: View) -> Table:
    """Hang the lines of a long note under its first word, so that the next flag is found at a glance."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    for note in shown.notes:
        grid.add_row(Text("*"), Text(note))
    return grid


def _effects(shown: View) -> Table:
    texts = [row.flags for row in shown.effects]
    table = _table(
        ("depth", True),
        ("candidate / baseline", False),
        ("speed-up", True),
        ("interval", False),
        ("n", True),
        ("verdict", False),
        ("flags", False),
        words={5: [row.verdict for row in shown.effects], 6: texts},
    )
    for row in shown.effects:
        cells = (row.condition, row.arms, row.speedup, row.interval, row.rounds)
        table.add_row(*(Text(text) for text in cells), _verdict(row), Text(row.flags))
    return table


def _verdict(row: EffectRow) -> Text:
    style = {"faster": "green", "slower": "red"}.get(row.verdict, "yellow")
    return Text(row.verdict, style=style)


def _effect_lines(shown: View) -> Table:
    """Write effects as lines where seven columns would split every word."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right")
    grid.add_column(overflow="fold")
    for row in shown.effects:
        head = (
            Text(f"{row.arms}: {row.speedup}, ").append(_verdict(row)).append(f", n = {row.rounds}")
        )
        lines = [head, Text(f"interval: {row.interval}"), Text(f"flags: {row.flags or 'none'}")]
        grid.add_row(Text(row.condition), Text("\n").join(lines))
    return grid


def _cell_lines(shown: View) -> Table:
    grid = Table.grid()
    grid.add_column(overflow="fold")
    for row in shown.cells:
        figures = f"mean {row.mean} tok/s, {row.ms} ms per token, spread {row.spread}"
        grid.add_row(Text(row.cell, style="bold"))
        grid.add_row(Text(f"  tok/s by round, in time order: {row.rates}"))
        grid.add_row(Text(f"  {figures}, leverage {row.leverage}"))
        grid.add_row(Text(f"  flags: {row.flags or 'none'}"))
    return grid

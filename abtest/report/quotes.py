"""Figures that a document quotes from a run, found by the comments right behind them.

The grammar is in docs/verify.md. Nothing inside code, fenced or inline, is read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

UNITS = {
    "speedup": ("x", "×", "-fold"),  # noqa: RUF001 - the sign that people write
    "tok_s": ("tok/s", "tokens/s", "tokens per second"),
    "ms": ("ms", "ms/token", "ms/tok", "ms per token"),
    "spread": ("%",),
    "retention": ("%",),
    "slope": (
        "ms", "ms/token per 1000 tokens", "ms/tok per 1000 tokens", "ms per token and 1000 tokens",
        "ms per 1000 tokens",
    ),
    "leverage": ("x", "×", "-fold"),  # noqa: RUF001 - the same
    "n": ("rounds",),
}  # fmt: skip
_OTHERS = ("s", "us", "µs", "ns", "tokens", "tok", "GB/s", "ms/token per 1024 tokens", "ms per 1024 tokens")  # fmt: skip
_ALL = {*_OTHERS, *(unit for units in UNITS.values() for unit in units)}
_COMMENT = re.compile(r"<!--\s*ab:(?P<body>.*?)(?:-->|$)")
_CODE = re.compile(r"(?P<ticks>`+).+?(?P=ticks)")
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})")
_ENDED = re.compile(r"-->")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and what it claims to be.

    Args:
        run: the run that the document names, None for the one it is verified against.
        text: the number as it is printed.
        unit: one of the quantity's, or empty.
        place: a cell, or an arm for quantities over depth.
    """

    line: int
    run: str | None
    quantity: str
    place: str
    text: str
    unit: str


@dataclass(frozen=True, slots=True)
class Table:
    """An exported table: its rows of Markdown cells, the head first, each with its line."""

    line: int
    run: str
    rows: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A comment that asks for a check and cannot be understood: never passed over."""

    line: int
    why: str


Quote = Figure | Table | Unreadable


def quotes(text: str) -> Iterator[Quote]:
    """Find what a document quotes, in its order."""
    lines = text.splitlines()
    run: str | None = None
    for number, line in enumerate(_prose(lines), start=1):
        for found in _COMMENT.finditer(line):
            words = found["body"].split()
            if not _ENDED.search(found[0]):
                yield Unreadable(number, "the comment does not end on its line")
            elif len(words) == 2 and words[0] == "run":  # noqa: PLR2004 - a word and a name
                run = unquote(words[1])
            elif len(words) == 2 and words[0] == "table":  # noqa: PLR2004 - the same
                yield Table(number, unquote(words[1]), _rows(lines, number))
            else:
                yield _figure(number, run, words, line[: found.start()])


def _prose(lines: list[str]) -> Iterator[str]:
    """Give the lines with blanks in place of what is shown as code."""
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            if found and found["marks"].startswith(fence) and not line.strip(" `~"):
                fence = ""
            yield ""
        elif found:
            fence = found["marks"]
            yield ""
        else:
            yield _CODE.sub(
                lambda code: code[0] if "<!--" not in code[0] else " " * len(code[0]), line
            )


def _rows(lines: list[str], start: int) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Read the table below line `start`: head, rule and rows; the rule is left out."""
    rows: list[tuple[int, tuple[str, ...]]] = []
    for number, line in enumerate(lines[start:], start=start + 1):
        if not line.strip().startswith("|"):
            break
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
        rows.append((number, tuple(" ".join(cell.split()) for cell in cells)))
    return (*rows[:1], *rows[2:])


def _figure(number: int, run: str | None, words: list[str], before: str) -> Figure | Unreadable:
    if len(words) != 2 or words[0] not in UNITS:  # noqa: PLR2004 - a quantity and a place
        said = " ".join(words)
        return Unreadable(
            number,
            f"{said!r} is not understood: write QUANTITY CELL, a quantity of {', '.join(UNITS)}",
        )
    quantity, place = words
    prose = before.rstrip(" *_`)")
    found = _number(prose, UNITS[quantity])
    if found is not None:
        return Figure(number, run, quantity, place, *found)
    other = _number(prose, tuple(_ALL))
    if other is not None:
        return Unreadable(
            number,
            f"{quantity} {place}: {other[0]} has the unit {other[1]!r}; {quantity} is in {' or '.join(UNITS[quantity])}",
        )
    return Unreadable(
        number,
        f"{quantity} {place}: no figure stands right before the comment (no separators, no exponent)",
    )


def _number(text: str, units: tuple[str, ...]) -> tuple[str, str] | None:
    """Read a number and its unit at the end of a text; the longest unit that fits is meant."""
    for unit in (*sorted(units, key=len, reverse=True), ""):
        if text.endswith(unit):
            found = re.search(r"(?<![\w.,])[-+]?\d+(?:\.\d+)?$", text.removesuffix(unit).rstrip())
            if found:
                return found[0], unit
    return None

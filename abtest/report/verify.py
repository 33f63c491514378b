"""Quoted figures against a recomputed summary: a figure holds within half a unit of its last printed digit."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from abtest.model.names import Cell
from abtest.model.result import CellSummary, DepthTrend, Effect, Summary
from abtest.report import maintable
from abtest.report.quotes import Figure, Table
from abtest.report.view import has_ratio, view

ROUNDING = Decimal("1e-9")  # relative; a value computed in binary may miss a half by its last bit
_ARM = re.compile(r"(?P<arm>[a-z0-9][a-z0-9._-]{0,31})(?:@x(?P<batch>[1-9][0-9]{0,4}))?")
_RATIO = re.compile(r"(?P<new>[^/@]+)/(?P<old>[^/@]+)(?P<at>@.+)")


class UnknownPlaceError(ValueError):
    """The run has no such cell, or nothing to say of it."""


def check_figure(summary: Summary, figure: Figure) -> str | None:
    """Say what is wrong with a figure; None if it holds."""
    name = f"{figure.quantity} {figure.place}"
    try:
        value = _value(summary, figure)
    except UnknownPlaceError as error:
        return f"{name}: {error}"
    if holds(figure.text, value):
        return None
    return f"{name}: the document says {figure.text}, the ledger gives {value:.6g}"


def holds(text: str, value: float) -> bool:
    """Compare a printed number with a value.

    >>> holds("3.52", 3.51583), holds("3.51", 3.51583)
    (True, False)
    """
    printed = Decimal(text)
    exponent = printed.as_tuple().exponent
    assert isinstance(exponent, int), "only digits are read as figures"
    half = Decimal(1).scaleb(exponent) / 2
    return abs(printed - Decimal(repr(value))) <= half * (1 + ROUNDING)


def _value(summary: Summary, figure: Figure) -> float:
    if figure.quantity in {"retention", "slope"}:
        trend = _trend(summary, figure.place)
        return trend.retention_pct if figure.quantity == "retention" else trend.slope_ms_per_1000
    if figure.quantity == "speedup":
        return _speedup(summary, figure.place)
    cell = _cell(summary, figure.place)
    values = {
        "tok_s": cell.mean_tok_s, "ms": cell.ms_per_token, "spread": cell.spread_pct, "leverage": cell.leverage,
        "n": cell.n,
    }  # fmt: skip
    value = values[figure.quantity]
    if value is None:
        raise UnknownPlaceError(f"the ledger has no value of it (n = {cell.n})")
    return value


def _cell(summary: Summary, place: str) -> CellSummary:
    try:
        wanted = Cell.parse(place)
    except ValueError as error:
        raise UnknownPlaceError(str(error)) from error
    for cell in summary.cells:
        if cell.cell == wanted:
            return cell
    known = ", ".join(str(cell.cell) for cell in summary.cells)
    raise UnknownPlaceError(f"run {summary.run} has no such cell; it has {known or 'none'}")


def _speedup(summary: Summary, place: str) -> float:
    """Find the ratio of a candidate's cell; `new/old@depth` also names what it is divided by."""
    parts = _RATIO.fullmatch(place)
    cell = _cell(summary, place if parts is None else parts["new"] + parts["at"])
    old = summary.baseline if parts is None else parts["old"]
    if old != summary.baseline:
        raise UnknownPlaceError(f"the run divides by {summary.baseline}, not by {old}")
    effect = _effect(summary, cell.cell)
    if effect.speedup is None or not has_ratio(effect):
        raise UnknownPlaceError(f"no speed-up may be quoted there: the verdict is {effect.verdict}")
    return effect.speedup


def _effect(summary: Summary, cell: Cell) -> Effect:
    for effect in summary.effects:
        if Cell(effect.candidate, effect.condition) == cell:
            return effect
    raise UnknownPlaceError(f"{cell.arm} is the baseline: a speed-up is a candidate's")


def _trend(summary: Summary, place: str) -> DepthTrend:
    found = _ARM.fullmatch(place)
    if found is None:
        raise UnknownPlaceError("write ARM, or ARM@xBATCH")
    for trend in summary.depth:
        if (trend.arm, trend.batch) == (found["arm"], int(found["batch"] or 1)):
            return trend
    raise UnknownPlaceError(f"run {summary.run} has no two depths of it")


def check_table(summary: Summary, table: Table) -> Iterator[tuple[int, str]]:
    """Say what is wrong with an exported table, each with its line: every cell must be as it was exported."""
    head, expected = maintable.table_cells(summary, view(summary))
    if not table.rows:
        yield table.line, f"table of run {summary.run}: no table stands right below the comment"
        return
    line, columns = table.rows[0]
    if columns != head:
        yield line, f"table of run {summary.run}: the columns are not those that were exported"
        return
    wanted = {row[0]: tuple(" ".join(cell.split()) for cell in row) for row in expected}
    for number, row in table.rows[1:]:
        truth = wanted.pop(row[0], None)
        if truth is None:
            yield number, f"{row[0]}: the table has no such row, or has it already"
        else:
            yield from ((number, f"{row[0]}, {text}") for text in _row(head, row, truth))
    for name in wanted:
        yield table.line, f"{name}: the row is missing from the table"


def _row(head: Sequence[str], row: Sequence[str], truth: Sequence[str]) -> Iterator[str]:
    if len(row) != len(truth):
        yield f"{len(row)} columns, {len(truth)} were exported"
        return
    for name, said, value in zip(head, row, truth, strict=True):
        if said != value:
            yield f"{name}: the document says {said!r}, the ledger gives {value!r}"

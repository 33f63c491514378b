"""A table with commas: one row per fresh start, its wall times for 8 and for 64 tokens in seconds."""

import csv
from collections.abc import Iterator, Mapping

from abtest.errors import UsageError
from abtest.ledger.foreign.rows import WHOLE_NUMBER, Foreign, Place, Row, arranged
from abtest.model.names import Cell, Condition
from abtest.model.trial import Pair

TOKENS = (8, 64)
SHORT, LONG = "t8_s", "t64_s"
NEEDED = ("arm", "depth", "round", "order_in_round", SHORT, LONG)
OPTIONAL = ("batch",)
REMEDY = f"Its columns are {', '.join(NEEDED)} and, if needed, batch; times are in seconds."


def read_table(text: str, source: str, arm_by: str | None = None) -> Foreign:
    """Read a table.

    Raises:
        UsageError: a column is missing or unknown, a line does not fit, or two lines say the same.
    """
    if arm_by is not None:
        raise UsageError(
            f"--arm-by {arm_by}: {source} is a table, its arms are in the column `arm`",
            remedy="Leave --arm-by out.",
        )
    rows = arranged(source, [_row(place, values) for place, values in _lines(text, source)])
    if not rows:
        raise UsageError(f"{source} holds no row", remedy=REMEDY)
    arms = tuple(dict.fromkeys(row.cell.arm for row in sorted(rows, key=lambda row: row.line)))
    return Foreign(rows, arms, {arm: {} for arm in arms})


def _lines(text: str, source: str) -> Iterator[tuple[Place, Mapping[str, str]]]:
    reader = csv.reader(text.removeprefix("\ufeff").splitlines(), strict=True)
    header: list[str] = []
    try:
        for values in reader:
            place, cells = Place(source, reader.line_num), [value.strip() for value in values]
            if not any(cells):
                continue
            if not header:
                header = _header(place, cells)
            elif len(cells) != len(header):
                raise place.refuse(f"{len(cells)} values for {len(header)} columns", REMEDY)
            else:
                yield place, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise Place(source, reader.line_num).refuse(f"not a table: {error}", REMEDY) from error


def _header(place: Place, names: list[str]) -> list[str]:
    found = {
        "missing": [name for name in NEEDED if name not in names],
        "not known": [name for name in names if name not in NEEDED + OPTIONAL],
        "given twice": sorted({name for name in names if names.count(name) > 1}),
    }
    wrong = [f"{what}: {', '.join(map(repr, bad))}" for what, bad in found.items() if bad]
    if wrong:
        raise place.refuse(f"columns {'; '.join(wrong)}", REMEDY)
    return names


def _row(place: Place, values: Mapping[str, str]) -> Row:
    condition = Condition(
        _number(place, "depth", values["depth"], least=0),
        _number(place, "batch", values.get("batch") or "1"),
    )
    return Row(
        line=place.line,
        cell=Cell(place.arm(values["arm"]), condition),
        round=_number(place, "round", values["round"]),
        slot=_number(place, "order_in_round", values["order_in_round"]),
        tokens=TOKENS,
        pairs=(Pair(_time(place, values, SHORT), _time(place, values, LONG), "short"),),
    )


def _number(place: Place, name: str, text: str, least: int = 1) -> int:
    if WHOLE_NUMBER.fullmatch(text) is None or int(text) < least:
        raise place.refuse(f"{name} is {text!r}, not a whole number from {least}", REMEDY)
    return int(text)


def _time(place: Place, values: Mapping[str, str], name: str) -> float:
    try:
        value = float(values[name])
    except ValueError as error:
        raise place.refuse(f"{name} is {values[name]!r}, not a number", REMEDY) from error
    return place.seconds(name, value)

"""Each cell by itself: rounds in time order with the pairs inside each trial, against the cell's own mean."""

from collections.abc import Sequence

from abtest.model.names import Cell
from abtest.model.point import Point
from abtest.model.result import CellSummary, Summary
from abtest.report import scale, words
from abtest.report.drawing import Band, Box, Chart, Mark, Segment
from abtest.report.neutralise import neutral
from abtest.report.scale import Tick

WIDTH, HEIGHT = 300.0, 210.0
BOX = Box(46, 292, 26, 174)
PAIR_ROOM = 0.62  # of a round's room is taken by its pairs


def draw(summary: Summary, points: Sequence[Point]) -> tuple[Chart, ...]:
    """Draw every cell that has a rate; all of them share the y axis, so that they may be compared."""
    by_cell: dict[Cell, list[Point]] = {}
    for point in points:
        by_cell.setdefault(point.cell, []).append(point)
    known = [
        (cell, by_cell[cell.cell], mean)
        for cell in summary.cells
        if cell.cell in by_cell and (mean := cell.ms_per_token) is not None
    ]
    reach = [value for cell, members, mean in known for value in _deviations(members, mean)] + [
        half for cell, _, _ in known if (half := _half_gate(cell)) is not None
    ]
    y = scale.around([*reach, -1.0, 1.0], 0.0, BOX.bottom, BOX.top)
    return tuple(_cell(summary, cell, members, y) for cell, members, _ in known)


def _deviations(members: Sequence[Point], mean_ms: float) -> list[float]:
    values = [value for one in members for value in (one.ms_per_token, *one.pairs_ms_per_token)]
    return [100 * (value / mean_ms - 1) for value in values]


def _half_gate(cell: CellSummary) -> float | None:
    return None if cell.gate_pct is None else cell.gate_pct / 2


def _cell(summary: Summary, cell: CellSummary, members: Sequence[Point], y: scale.Scale) -> Chart:
    arm = summary.arms.index(cell.cell.arm)
    mean_ms = cell.ms_per_token or 1.0
    room = (BOX.right - BOX.left) / len(members)
    marks: list[Mark] = []
    ticks = []
    for number, point in enumerate(members):
        middle = BOX.left + room * (number + 0.5)
        ticks.append(Tick(round(middle, 1), str(point.round)))
        marks += _pairs(point, arm, (middle, room), (mean_ms, y))
        at = y.at(100 * (point.ms_per_token / mean_ms - 1))
        marks.append(Mark(round(middle, 1), at, arm, words.of_point(point, cell.flags)))
    half = _half_gate(cell)
    zero = y.at(0)
    flags = ", ".join(flag.name for flag in cell.flags)
    spread = "" if cell.spread_pct is None else f"spread {cell.spread_pct:.1f} %, "
    name = str(cell.cell)
    return Chart(
        key=f"cell-{summary.cells.index(cell)}",
        title=neutral(name),
        summary=neutral(
            f"{name}: rounds in time order, {spread}mean {mean_ms:.4g} ms per token; flags: {flags or 'none'}."
        ),
        width=WIDTH, height=HEIGHT, box=BOX,
        x_title="round, in time order", y_title="ms per token against the mean, %",
        x_ticks=_thinned(ticks), y_ticks=y.ticks, marks=tuple(marks),
        segments=(Segment(BOX.left, zero, BOX.right, zero, "reference"),),
        bands=() if half is None else (Band(y.at(half), y.at(-half)),),
        flags=flags,
    )  # fmt: skip


def _pairs(
    point: Point, arm: int, place: tuple[float, float], axis: tuple[float, scale.Scale]
) -> list[Mark]:
    """Set the pairs of one trial side by side, in time order; one pair is the trial itself."""
    (middle, room), (mean_ms, y) = place, axis
    count = len(point.pairs)
    if count < 2:  # noqa: PLR2004 - one pair has nothing beside it
        return []
    step = min(9.0, room * PAIR_ROOM / (count - 1))
    first = middle - step * (count - 1) / 2
    return [
        Mark(
            round(first + step * number, 1),
            y.at(100 * (value / mean_ms - 1)),
            arm,
            words.of_pair(point, number),
            hollow=point.pairs[number].first == "long",
            small=True,
        )
        for number, value in enumerate(point.pairs_ms_per_token)
    ]


def _thinned(ticks: Sequence[Tick]) -> tuple[Tick, ...]:
    """Leave out labels where there are too many rounds to write each."""
    return tuple(ticks[:: max(1, -(-len(ticks) // 12))])

"""Something against depth or batch, per arm: every round a point, the spread a bar, the mean a dash."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from abtest.model.flag import Flag
from abtest.model.names import Cell, Condition
from abtest.model.point import Point
from abtest.model.result import DepthTrend, Summary
from abtest.report import scale, words
from abtest.report.drawing import Box, Chart, Curve, Mark, Segment
from abtest.report.neutralise import neutral

WIDTH, HEIGHT = 460.0, 320.0
BOX = Box(56, 446, 30, 276)
INSET = 46.0  # between the frame and the outermost places
LEAST_GAP = 34.0  # between two places on a linear axis; below, the axis is logarithmic
BAND = 88.0  # room of all arms at one place
STEP, LEAST_STEP = 8.0, 2.5  # between two rounds of a cell
MARK = 10.0
CURVE_STEPS = 40

Value = Callable[[Point], float | None]


@dataclass(frozen=True, slots=True)
class Axis:
    """Which part of a condition goes along x; each value of the other part has a chart of its own.

    Args:
        name: what the charts are drawn against.
        title: below the axis.
        along: the part along x.
        group: the other part.
        of_group: what a title adds to tell the charts apart.
        note: what a reader must know before the charts; empty or a sentence with a space behind.
    """

    name: str
    title: str
    along: Callable[[Condition], int]
    group: Callable[[Condition], int]
    of_group: Callable[[int], str]
    note: str = ""


DEPTH = Axis(
    "depth",
    "depth, tokens in the KV cache",
    along=lambda one: one.depth,
    group=lambda one: one.batch,
    of_group=lambda batch: f", batch {batch}" if batch > 1 else "",
)


def axis_of(points: Sequence[Point]) -> Axis:
    """Choose the depth, except where there is but one and the batch varies."""
    depths = {one.cell.condition.depth for one in points}
    batches = {one.cell.condition.batch for one in points}
    if len(depths) != 1 or len(batches) == 1:
        return DEPTH
    return Axis(
        "batch",
        "batch, sequences decoded together",
        along=lambda one: one.batch,
        group=lambda one: one.depth,
        of_group=lambda _: "",
        note=f"All at depth {depths.pop()}; a rate is that of one sequence. ",
    )


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is drawn.

    Args:
        mean: how the mean of a cell follows from its points.
        linear: whether values along x stand at their true distance where there is room.
        ratio: whether a logarithmic y axis may be taken.
    """

    key: str
    title: str
    unit: str
    value: Value
    mean: Callable[[Sequence[Point]], float | None]
    linear: bool = False
    ratio: bool = False


def _rate(point: Point) -> float:
    return point.rate_tok_s


def _mean_of(value: Value) -> Callable[[Sequence[Point]], float | None]:
    def mean(points: Sequence[Point]) -> float | None:
        known = [one for point in points if (one := value(point)) is not None]
        return sum(known) / len(known) if known else None

    return mean


def _ms_of_mean_rate(points: Sequence[Point]) -> float | None:
    """Give 1000 over the mean rate, as the tables do: not the mean of the rounds' own times."""
    rate = _mean_of(_rate)(points)
    return None if rate is None else 1000 / rate


RATE = Quantity("rate", "Rate", "tok/s", _rate, _mean_of(_rate), ratio=True)
TIME = Quantity(
    "time",
    "Time per token",
    "ms per token",
    lambda one: one.ms_per_token,
    _ms_of_mean_rate,
    linear=True,
)
POWER = Quantity("power", "Power", "W", lambda one: one.power_w, _mean_of(lambda one: one.power_w))
CLOCK = Quantity(
    "clock", "Clock", "MHz", lambda one: one.clock_mhz, _mean_of(lambda one: one.clock_mhz)
)


def draw(
    summary: Summary, points: Sequence[Point], quantity: Quantity, axis: Axis, group: int
) -> Chart | None:
    """Draw one quantity of one group; None where no point has it."""
    here = [
        one
        for one in points
        if axis.group(one.cell.condition) == group and quantity.value(one) is not None
    ]
    if not here:
        return None
    x, log_x = _x_scale([axis.along(one.cell.condition) for one in here], linear=quantity.linear)
    values = [value for one in here if (value := quantity.value(one)) is not None]
    make = scale.rates if quantity.ratio else scale.from_zero
    y = make(values, BOX.bottom, BOX.top)
    flags = {cell.cell: cell.flags for cell in summary.cells}
    marks: list[Mark] = []
    segments: list[Segment] = []
    room = _room(x, len(summary.arms))
    for cell, members in _by_cell(here).items():
        arm = summary.arms.index(cell.arm)
        middle = x.at(axis.along(cell.condition)) + room * (arm - (len(summary.arms) - 1) / 2)
        found, bars = _cell(members, quantity, y, (middle, room, arm), flags.get(cell, ()))
        marks += found
        segments += bars
    curves = _slopes(summary, x, y, group) if (quantity, axis) == (TIME, DEPTH) else ()
    return Chart(
        key=f"{quantity.key}-{group}",
        title=f"{quantity.title} against {axis.name}{axis.of_group(group)}",
        summary=_summary(here, quantity),
        width=WIDTH, height=HEIGHT, box=BOX,
        x_title=axis.title + (" (log scale)" if log_x else ""),
        y_title=quantity.unit + (" (log scale)" if y.log else ""),
        x_ticks=x.ticks, y_ticks=y.ticks,
        marks=tuple(marks), segments=tuple(segments), curves=tuple(curves),
    )  # fmt: skip


def _x_scale(values: Sequence[int], *, linear: bool) -> tuple[scale.Scale, bool]:
    start, end = BOX.left + INSET, BOX.right - INSET
    if linear:
        x = scale.places(values, start, end, log=False)
        if _least_gap(x) >= LEAST_GAP:
            return x, False
    return scale.places(values, start, end, log=True), True


def _least_gap(x: scale.Scale) -> float:
    return min((b.at - a.at for a, b in pairwise(x.ticks)), default=2 * INSET)


def _room(x: scale.Scale, arms: int) -> float:
    """Give each arm a lane of its own at a place, so that equal values stay visible."""
    return min(BAND, 0.85 * _least_gap(x)) / max(1, arms)


def _by_cell(points: Sequence[Point]) -> dict[Cell, list[Point]]:
    found: dict[Cell, list[Point]] = {}
    for point in points:
        found.setdefault(point.cell, []).append(point)
    return found


def _cell(
    members: Sequence[Point],
    quantity: Quantity,
    y: scale.Scale,
    place: tuple[float, float, int],
    flags: Sequence[Flag],
) -> tuple[list[Mark], list[Segment]]:
    """Set the rounds of a cell side by side in time order, over the bar of their spread."""
    middle, room, arm = place
    step = min(STEP, max(LEAST_STEP, (room - MARK) / max(1, len(members) - 1)))
    first = middle - step * (len(members) - 1) / 2
    marks, values = [], []
    for number, point in enumerate(members):
        value = quantity.value(point)
        if value is not None:
            values.append(value)
            x = round(first + step * number, 1)
            marks.append(Mark(x, y.at(value), arm, words.of_point(point, flags)))
    middle = round(middle, 1)
    segments = [Segment(middle, y.at(min(values)), middle, y.at(max(values)), "spread", arm)]
    mean = quantity.mean(members)
    if mean is not None:
        at, reach = y.at(mean), middle - first + MARK
        segments.append(
            Segment(round(middle - reach, 1), at, round(middle + reach, 1), at, "mean", arm)
        )
    return marks, segments


def _slopes(summary: Summary, x: scale.Scale, y: scale.Scale, batch: int) -> list[Curve]:
    """Draw the slope between the ends: straight where depths are linear, bent where they are not."""
    return [
        Curve(_places(trend, first, x, y), summary.arms.index(trend.arm))
        for trend in summary.depth
        if trend.batch == batch and (first := _first_ms(summary, trend)) is not None
    ]


def _first_ms(summary: Summary, trend: DepthTrend) -> float | None:
    for cell in summary.cells:
        here = cell.cell
        if (here.arm, here.condition.depth, here.condition.batch) == (
            trend.arm, trend.depths[0], trend.batch,
        ):  # fmt: skip
            return cell.ms_per_token
    return None


def _places(trend: DepthTrend, first_ms: float, x: scale.Scale, y: scale.Scale) -> str:
    low, high = trend.depths[0], trend.depths[-1]
    depths = [low + (high - low) * n / CURVE_STEPS for n in range(CURVE_STEPS + 1)]
    return " ".join(
        f"{x.at(depth)},{y.at(first_ms + trend.slope_ms_per_1000 * (depth - low) / 1000)}"
        for depth in depths
    )


def _summary(points: Sequence[Point], quantity: Quantity) -> str:
    """Say each cell's mean and range."""
    parts = []
    for cell, members in _by_cell(points).items():
        values = [value for one in members if (value := quantity.value(one)) is not None]
        mean = quantity.mean(members)
        parts.append(
            f"{cell} {mean:.4g} ({min(values):.4g} to {max(values):.4g}, n = {len(values)})"
        )
    return neutral(f"{quantity.title} in {quantity.unit}, mean and range: {'; '.join(parts)}.")

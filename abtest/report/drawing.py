"""What a chart is made of: places, words and the arm that each belongs to; a template turns it into SVG."""

from dataclasses import dataclass

from abtest.report.scale import Tick


@dataclass(frozen=True, slots=True)
class Mark:
    """One point that a reader can ask about.

    Args:
        arm: number of the arm, for its colour and shape.
        text: what hovering, focus and screen readers say, line by line.
        hollow: drawn as an outline.
        small: one of many that together make a larger mark.
    """

    x: float
    y: float
    arm: int
    text: tuple[str, ...]
    hollow: bool = False
    small: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight line: `kind` is spread, mean, slope, interval or reference."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str
    arm: int | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through places, written as SVG wants them."""

    places: str
    arm: int


@dataclass(frozen=True, slots=True)
class Box:
    """A plot's inner edges."""

    left: float
    right: float
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Band:
    """A shaded range of y."""

    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Chart:
    """One drawing.

    Args:
        key: unique in its page.
        summary: the chart in words, for those who do not see it.
        x_title: below the axis.
        y_title: above the plot, at the left.
    """

    key: str
    title: str
    summary: str
    width: float
    height: float
    box: Box
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    segments: tuple[Segment, ...] = ()
    curves: tuple[Curve, ...] = ()
    bands: tuple[Band, ...] = ()
    flags: str = ""

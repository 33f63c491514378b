"""The effects as a drawing: each speed-up with its interval, against the line where nothing changed."""

from collections.abc import Sequence

from abtest.model.result import Effect, Summary, Verdict
from abtest.report import figures, scale
from abtest.report.drawing import Box, Chart, Mark, Segment
from abtest.report.neutralise import neutral
from abtest.report.scale import Tick

WIDTH, ROW, MARGIN = 460.0, 30.0, 40.0
LEFT, RIGHT, TOP = 120.0, 446.0, 16.0


def draw(summary: Summary) -> Chart | None:
    """Draw every effect whose ratio may be shown; None where there is none."""
    shown = [
        effect
        for effect in summary.effects
        if effect.speedup is not None and effect.verdict is not Verdict.INVALID
    ]
    if not shown:
        return None
    bottom = TOP + ROW * len(shown)
    x = scale.ratios([value for effect in shown for value in _values(effect)], LEFT, RIGHT)
    marks: list[Mark] = []
    one = x.at(1.0)
    segments = [Segment(one, TOP, one, bottom, "reference")]
    ticks = []
    for number, effect in enumerate(shown):
        at = TOP + ROW * (number + 0.5)
        arm = summary.arms.index(effect.candidate)
        ticks.append(Tick(at, neutral(_name(effect, summary))))
        if effect.interval is not None:
            low, high = x.at(effect.interval.low), x.at(effect.interval.high)
            segments.append(Segment(low, at, high, at, "interval", arm))
        ratio = effect.basis_speedup or effect.speedup or 1.0
        marks.append(
            Mark(x.at(ratio), at, arm, _text(effect), hollow=effect.verdict is Verdict.INCONCLUSIVE)
        )
    return Chart(
        key="effects", title="Speed-up by condition", summary=_summary(shown),
        width=WIDTH, height=bottom + MARGIN, box=Box(LEFT, RIGHT, TOP, bottom),
        x_title="candidate over baseline (log scale)", y_title="",
        x_ticks=tuple(Tick(tick.at, f"{tick.text}x") for tick in x.ticks), y_ticks=tuple(ticks),
        marks=tuple(marks), segments=tuple(segments),
    )  # fmt: skip


def _values(effect: Effect) -> list[float]:
    ends = () if effect.interval is None else (effect.interval.low, effect.interval.high)
    ratio = effect.basis_speedup or effect.speedup
    return [value for value in (ratio, *ends) if value is not None and value > 0]


def _name(effect: Effect, summary: Summary) -> str:
    """Name the condition; the candidate too where there are several."""
    several = len(summary.arms) > 2  # noqa: PLR2004 - a baseline and one candidate
    return f"{effect.candidate}@{effect.condition}" if several else str(effect.condition)


def _text(effect: Effect) -> tuple[str, ...]:
    digits = figures.ratio_digits(effect.basis_speedup or effect.speedup or 1.0)
    old, new = effect.rounds
    lines = [
        f"{effect.candidate} / {effect.baseline} at {effect.condition}: {effect.verdict.value}",
        f"speed-up {figures.ratio(effect.speedup)}, n = {new} / {old}",
        f"interval {figures.interval(effect.interval, digits)}",
    ]
    if effect.basis != "differential":
        lines.insert(2, f"by time stamps {figures.ratio(effect.basis_speedup)}; drawn here")
    return tuple(neutral(line) for line in lines)


def _summary(shown: Sequence[Effect]) -> str:
    return neutral(". ".join("; ".join(_text(effect)) for effect in shown) + ".")

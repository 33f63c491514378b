"""A chart of rate against depth that a forge draws from text; it holds numbers only, so no foreign text reaches it."""

from collections.abc import Mapping
from dataclasses import dataclass

from abtest.model.names import Condition
from abtest.model.result import Summary
from abtest.report import figures

COLORS = (
    ("blue", "#2f6fde"), ("orange", "#d9730d"), ("green", "#2e8b57"), ("purple", "#8250df"),
    ("red", "#cf222e"), ("grey", "#6e7781"),
)  # fmt: skip
DIGITS = 5  # the language reads no exponents
LEAST_POINTS = 2  # depths; one is no course


@dataclass(frozen=True, slots=True)
class Chart:
    """One batch's rates over depth.

    Args:
        text: the chart in Mermaid's language, which has no legend.
        legend: (color, arm) in the order of the lines.
        left_out: depths at which an arm has no rate, and arms beyond the colors.
    """

    batch: int
    text: str
    legend: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]


def charts(summary: Summary) -> tuple[Chart, ...]:
    """Draw one chart per batch that was measured at two depths or more."""
    rates = {
        (cell.cell.arm, cell.cell.condition): cell.mean_tok_s
        for cell in summary.cells
        if cell.mean_tok_s is not None
    }
    batches = sorted({condition.batch for _, condition in rates})
    found = (_chart(summary.arms, rates, batch) for batch in batches)
    return tuple(chart for chart in found if chart is not None)


def _chart(
    arms: tuple[str, ...], rates: Mapping[tuple[str, Condition], float], batch: int
) -> Chart | None:
    """Draw the depths that all arms share: the language has no gap in a line."""
    drawn = arms[: len(COLORS)]
    depths = sorted({one.depth for _, one in rates if one.batch == batch})
    shared = [
        depth for depth in depths if all((arm, Condition(depth, batch)) in rates for arm in drawn)
    ]
    if len(shared) < LEAST_POINTS:
        return None
    lines = {arm: [rates[arm, Condition(depth, batch)] for depth in shared] for arm in drawn}
    legend = tuple((name, arm) for (name, _), arm in zip(COLORS, drawn, strict=False))
    left_out = (*(str(depth) for depth in depths if depth not in shared), *arms[len(COLORS) :])
    return Chart(batch, _text(shared, lines), legend, left_out)


def _text(depths: list[int], lines: Mapping[str, list[float]]) -> str:
    palette = ", ".join(color for _, color in COLORS[: len(lines)])
    top = 1.05 * max(rate for rates in lines.values() for rate in rates)
    rows = (
        f"  line [{', '.join(figures.significant(rate, DIGITS) for rate in rates)}]"
        for rates in lines.values()
    )
    init = f'%%{{init: {{"themeVariables": {{"xyChart": {{"plotColorPalette": "{palette}"}}}}}}}}%%'
    axes = (
        f'  x-axis "depth, tokens of context" [{", ".join(f"{depth}" for depth in depths)}]',
        f'  y-axis "tokens per second" 0 --> {figures.significant(top, DIGITS)}',
    )
    return "\n".join((init, "xychart-beta", *axes, *rows)) + "\n"

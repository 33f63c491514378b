"""How a rate falls with depth: retention, and milliseconds per token for each 1000 tokens of context.

Depths are independent cells: errors add in squares, and the degrees of freedom are Welch's. Below four rounds
no standard error is trusted for an interval; the range of what was observed stands in for it.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

from abtest.analysis import moments
from abtest.analysis.effects import COVERAGE, PAIRED_FROM, extremes, t_quantile
from abtest.model.result import CellSummary, DepthTrend, Interval

TOKENS_PER_UNIT = 1000
DROWNED = "drowned"


def ms_per_token(rates: Sequence[float]) -> list[float]:
    return [1000 / rate for rate in rates]


def two_point(depths: Sequence[int], ms: Sequence[float]) -> float:
    """Compute the slope between the first and the last depth, in ms per token and 1000 tokens of context.

    >>> round(two_point([1024, 8192, 32768], [26.741321, 79.388375, 261.911571]), 4)
    7.4083
    """
    return (ms[-1] - ms[0]) / (depths[-1] - depths[0]) * TOKENS_PER_UNIT


def weights(depths: Sequence[int]) -> list[float]:
    """Give the weights of least squares: the slope is the sum of weight times ms."""
    units = [depth / TOKENS_PER_UNIT for depth in depths]
    center = moments.mean(units)
    sxx = math.fsum((unit - center) ** 2 for unit in units)
    return [(unit - center) / sxx for unit in units]


def least_squares(depths: Sequence[int], ms: Sequence[float]) -> float:
    """Compute the slope over all depths, in the unit of `two_point`; the deepest depth dominates it."""
    return math.fsum(weight * value for weight, value in zip(weights(depths), ms, strict=True))


def residuals_ms(depths: Sequence[int], ms: Sequence[float]) -> tuple[float, ...]:
    """Give what the line of least squares leaves over at each depth: how straight it is."""
    slope, center, middle = least_squares(depths, ms), moments.mean(depths), moments.mean(ms)
    return tuple(
        value - middle - slope * (depth - center) / TOKENS_PER_UNIT
        for depth, value in zip(depths, ms, strict=True)
    )


def welch_degrees(errors: Sequence[float], counts: Sequence[int]) -> float:
    """Compute Welch's degrees of freedom of a sum of independent parts with these standard errors."""
    total = math.fsum(error**2 for error in errors)
    parts = math.fsum(error**4 / (count - 1) for error, count in zip(errors, counts, strict=True))
    return total**2 / parts if parts > 0 else math.inf


def trends(cells: Sequence[CellSummary]) -> tuple[DepthTrend, ...]:
    """Give one trend per arm and batch that has a rate at two depths or more; a drowned cell has none."""
    groups: dict[tuple[str, int], list[CellSummary]] = defaultdict(list)
    for cell in cells:
        if cell.n and not any(flag.name == DROWNED for flag in cell.flags):
            groups[cell.cell.arm, cell.cell.condition.batch].append(cell)
    return tuple(
        _trend(arm, batch, sorted(members, key=lambda cell: cell.cell.condition.depth))
        for (arm, batch), members in groups.items()
        if len(members) > 1
    )


def _trend(arm: str, batch: int, cells: Sequence[CellSummary]) -> DepthTrend:
    depths = [cell.cell.condition.depth for cell in cells]
    # 1000 / mean rate, as the table shows it, so that a reader can check the slope against the table.
    ms = [1000 / moments.mean(cell.rates_tok_s) for cell in cells]
    shallow, deep = cells[0].rates_tok_s, cells[-1].rates_tok_s
    errors = _errors_ms(cells)
    slope_error = math.hypot(errors[0], errors[-1]) if errors else None
    span = (depths[-1] - depths[0]) / TOKENS_PER_UNIT
    ls_error = (
        math.hypot(*(w * e for w, e in zip(weights(depths), errors, strict=True)))
        if errors
        else None
    )
    return DepthTrend(
        arm=arm,
        batch=batch,
        depths=tuple(depths),
        retention_pct=100 * moments.mean(deep) / moments.mean(shallow),
        retention_interval_pct=_retention_interval(shallow, deep),
        slope_ms_per_1000=two_point(depths, ms),
        slope_se_ms_per_1000=None if slope_error is None else slope_error / span,
        slope_interval=_slope_interval(shallow, deep, span),
        slope_ls_ms_per_1000=least_squares(depths, ms),
        slope_ls_se_ms_per_1000=ls_error,
        residuals_ms=residuals_ms(depths, ms),
    )


def _errors_ms(cells: Sequence[CellSummary]) -> list[float] | None:
    if min(cell.n for cell in cells) < 2:  # noqa: PLR2004 - an error needs two
        return None
    return [moments.standard_error(ms_per_token(cell.rates_tok_s)) for cell in cells]


def _retention_interval(shallow: Sequence[float], deep: Sequence[float]) -> Interval | None:
    few = min(len(shallow), len(deep))
    if few < 2:  # noqa: PLR2004 - one ratio has no range
        return None
    if few < PAIRED_FROM:
        found = extremes(shallow, deep)
        return Interval(100 * found.low, 100 * found.high, found.level, found.method)
    relative = [moments.standard_error(rates) / moments.mean(rates) for rates in (shallow, deep)]
    half = math.hypot(*relative) * t_quantile(welch_degrees(relative, (len(shallow), len(deep))))
    middle = 100 * moments.mean(deep) / moments.mean(shallow)
    low, high = middle * math.exp(-half), middle * math.exp(half)
    return Interval(low, high, COVERAGE, "Welch t on log rates")


def _slope_interval(
    shallow: Sequence[float], deep: Sequence[float], span: float
) -> Interval | None:
    few = min(len(shallow), len(deep))
    if few < 2:  # noqa: PLR2004 - one slope has no range
        return None
    near, far = ms_per_token(shallow), ms_per_token(deep)
    if few < PAIRED_FROM:
        level = extremes(shallow, deep).level
        low, high = min(far) - max(near), max(far) - min(near)
        return Interval(low / span, high / span, level, "range of observed slopes")
    errors = [moments.standard_error(near), moments.standard_error(far)]
    half = math.hypot(*errors) * t_quantile(welch_degrees(errors, (len(near), len(far))))
    middle = 1000 / moments.mean(deep) - 1000 / moments.mean(shallow)
    return Interval((middle - half) / span, (middle + half) / span, COVERAGE, "Welch t")

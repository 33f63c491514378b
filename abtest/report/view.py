"""The tables as strings with sensible digits; every format shows these and nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from abtest.model.flag import Flag
from abtest.model.result import CellSummary, DepthTrend, Difference, Effect, Summary, Verdict
from abtest.report import controls, figures, gates, notes
from abtest.report.figures import DASH
from abtest.report.neutralise import neutral

LONG_RUN = 24  # rounds that a table still lists one by one; JSON lists them all
ENDS = 6  # rounds shown at either end of a longer run
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class CellRow:
    """One row per cell."""

    cell: str
    rates: str
    mean: str
    ms: str
    spread: str
    leverage: str
    flags: str


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One row per candidate and condition."""

    condition: str
    arms: str
    speedup: str
    interval: str
    rounds: str
    verdict: str
    flags: str


@dataclass(frozen=True, slots=True)
class DepthRow:
    """One row per arm and batch that was measured at two depths or more."""

    arm: str
    depths: str
    retention: str
    slope: str
    least_squares: str


@dataclass(frozen=True, slots=True)
class View:
    """Everything a reader sees.

    Args:
        facts: (name, text) lines above the tables.
        limits: what these rounds cannot claim; empty where there is nothing to say.
        notes: one line per distinct flag: name, where with figures, why, remedy.
        gates: what was asked, each look, and the answer.
        footer: looks after which rounds were added, the noise floor, and the last controls.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    cells: tuple[CellRow, ...]
    effects: tuple[EffectRow, ...]
    depth: tuple[DepthRow, ...]
    limits: tuple[str, ...]
    notes: tuple[str, ...]
    gates: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()


def view(summary: Summary) -> View:
    """Turn a summary into strings."""
    return View(
        title=neutral(f"{summary.experiment}  {summary.run}"),
        facts=_facts(summary),
        cells=tuple(_cell_row(cell) for cell in summary.cells),
        effects=_effect_rows(summary),
        depth=tuple(_depth_row(trend) for trend in summary.depth),
        limits=notes.limits(summary),
        notes=notes.of_flags(summary),
        gates=gates.lines(summary.gates),
        footer=(
            *(neutral(line) for line in summary.looks),
            *map(controls.floor_line, summary.noise_floor),
            *map(controls.control_line, summary.control),
            *controls.footer(summary.last_controls),
        ),
    )


def _facts(summary: Summary) -> tuple[tuple[str, str], ...]:
    order = _in_time(summary.order, "/".join)
    dropped = ", ".join(f"{count} {name}" for name, count in summary.dropped.items())
    proved = f"{summary.identity} (every rank: file hash and loaded code, before and after timing)"
    rows = [
        ("isolation", summary.isolation),
        ("identity", proved if summary.identity == "proved" else summary.identity),
        ("image", summary.image or ""),
        ("order by round", order or DASH),
        ("declared difference", _differences(summary.declared_difference)),
        ("observed difference", _differences(summary.observed_difference)),
        ("not counted", dropped),
        ("flags", _names(summary.flags)),
    ]
    return tuple((name, neutral(text)) for name, text in rows if text)


def _in_time(values: Sequence[_Value], text_of: Callable[[_Value], str]) -> str:
    """List what happened round by round; of a long run its beginning and its end, and how many lie between."""
    if len(values) <= LONG_RUN:
        return "  ".join(map(text_of, values))
    between = f"({len(values) - 2 * ENDS} more)"
    first, last = map(text_of, values[:ENDS]), map(text_of, values[-ENDS:])
    return "  ".join((*first, between, *last))


def _differences(found: tuple[Difference, ...]) -> str:
    return "; ".join(f"{one.what}: {_values(one)}" for one in found) or "none"


def _values(one: Difference) -> str:
    parts = []
    for arm, full in one.values.items():
        value = full.rpartition("(")[2].rstrip(")") if "(md5 " in full else full
        parts.append(f"{arm} {value}")
    return ", ".join(parts)


def _names(flags: tuple[Flag, ...]) -> str:
    return ", ".join(dict.fromkeys(flag.name for flag in flags))


def _cell_row(cell: CellSummary) -> CellRow:
    known = cell.spread_pct is not None and cell.gate_pct is not None
    return CellRow(
        cell=neutral(str(cell.cell)),
        rates=_in_time(cell.rates_tok_s, figures.rate) or DASH,
        mean=figures.rate(cell.mean_tok_s),
        ms=figures.significant(cell.ms_per_token),
        spread=f"{cell.spread_pct:.1f} % (of {cell.gate_pct:.1f})" if known else DASH,
        leverage=DASH if cell.leverage is None else f"{cell.leverage:.1f}",
        flags=_names(cell.flags),
    )


def _effect_rows(summary: Summary) -> tuple[EffectRow, ...]:
    flags = {cell.cell: cell.flags for cell in summary.cells}
    return tuple(
        _effect_row(summary, effect, flags[effect.old_cell] + flags[effect.new_cell])
        for effect in summary.effects
    )


def _effect_row(summary: Summary, effect: Effect, sides: tuple[Flag, ...]) -> EffectRow:
    old, new = effect.rounds
    return EffectRow(
        condition=str(effect.condition),
        arms=neutral(f"{effect.candidate} / {effect.baseline}"),
        speedup=_speedup(effect),
        interval=_interval(effect),
        rounds=str(old) if old == new else f"{new} / {old}",
        verdict=effect.verdict.value,
        flags=_names((*summary.flags, *effect.flags, *sides)),
    )


def has_ratio(effect: Effect) -> bool:
    """Tell whether a ratio may be shown at all: never on an invalid row, whatever else the effect holds."""
    return effect.speedup is not None and effect.verdict is not Verdict.INVALID


def _speedup(effect: Effect) -> str:
    """Print the ratio of mean times beside the headline where a reader would see another digit."""
    if not has_ratio(effect) or effect.speedup is None:
        return figures.ratio(None)
    text = figures.ratio(effect.speedup)
    if effect.speedup_mean_times is None:
        return text
    other = figures.ratio(effect.speedup_mean_times, figures.ratio_digits(effect.speedup))
    return text if other == text else f"{text} ({other} by mean times)"


def _interval(effect: Effect) -> str:
    if effect.interval is None or not has_ratio(effect):
        return DASH
    digits = figures.ratio_digits(effect.basis_speedup or effect.speedup or 1.0)
    text = figures.interval(effect.interval, digits)
    if effect.basis == "differential":
        return text
    return f"by time stamps {figures.ratio(effect.basis_speedup)}: {text}"


def _depth_row(trend: DepthTrend) -> DepthRow:
    name = trend.arm if trend.batch == 1 else f"{trend.arm} x{trend.batch}"
    retention = f"{trend.retention_pct:.1f} %"
    if trend.retention_interval_pct is not None:
        retention += f", {figures.interval(trend.retention_interval_pct, 1)}"
    slope = f"{trend.slope_ms_per_1000:.3f}"
    if trend.slope_interval is not None:
        slope += f", {figures.interval(trend.slope_interval, 3)}"
    error = trend.slope_ls_se_ms_per_1000
    return DepthRow(
        arm=neutral(name),
        depths=f"{trend.depths[0]} to {trend.depths[-1]}",
        retention=retention,
        slope=slope,
        least_squares=f"{trend.slope_ls_ms_per_1000:.3f}"
        + ("" if error is None else f" (standard error {error:.3f})"),
    )

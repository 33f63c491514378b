"""The published experiment: every published digit comes out, and so do the numbers behind it."""

import math
import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest

from abtest.analysis import depth
from abtest.analysis.differential import amplification, differences_s, explaining_jitter_s
from abtest.analysis.effects import (
    extremes,
    log_ratios,
    paired,
    speedup,
    speedup_of_mean_times,
    welch,
)
from abtest.analysis.explain import flag
from abtest.analysis.modes import largest_gap
from abtest.analysis.moments import harmonic, mean
from abtest.model.names import Cell, Condition
from abtest.model.result import CellSummary, Effect, Summary, Verdict
from abtest.model.trial import TrialRecord
from abtest.report.view import view

DEPTHS = (1024, 8192, 32768)


@pytest.fixture
def summary(published_us: list[TrialRecord], summarise: Callable[..., Summary]) -> Summary:
    return summarise(published_us, arms=("stock", "splitkv"), declared=())


def cell(summary: Summary, arm: str, tokens: int) -> CellSummary:
    return next(one for one in summary.cells if one.cell == Cell(arm, Condition(tokens)))


def rates(summary: Summary, arm: str, tokens: int) -> tuple[float, ...]:
    return cell(summary, arm, tokens).rates_tok_s


def effect(summary: Summary, tokens: int) -> Effect:
    return next(one for one in summary.effects if one.condition.depth == tokens)


def mean_time_ms(summary: Summary, arm: str) -> list[float]:
    return [1000 / harmonic(rates(summary, arm, tokens)) for tokens in DEPTHS]


def test_every_published_digit_is_printed(
    published: list[TrialRecord], summarise: Callable[..., Summary]
) -> None:
    shown = view(summarise(published, arms=("stock", "splitkv"), declared=()))
    assert [row.speedup.split()[0] for row in shown.effects] == ["1.38x", "3.52x", "9.46x"]
    assert [row.retention.split(",")[0] for row in shown.depth] == ["10.2 %", "70.0 %"]
    assert [row.slope.split(",")[0] for row in shown.depth] == ["7.408", "0.262"]
    ms = {row.cell: float(row.ms) for row in shown.cells}
    assert round(ms["stock@32768"], 1) == 261.9
    assert round(ms["splitkv@32768"], 1) == 27.7
    spread = {row.cell: row.spread for row in shown.cells}
    assert spread["splitkv@8192"] == "16.8 % (of 7.9)"


def test_two_rounds_show_the_published_first_spread(
    published: list[TrialRecord], summarise: Callable[..., Summary]
) -> None:
    first = summarise(published, arms=("stock", "splitkv"), declared=(), rounds=(1, 2))
    assert {row.cell: row.spread for row in view(first).cells}["splitkv@8192"] == "15.8 % (of 6.0)"


def test_the_four_rates_keep_their_order_and_sort_to_two_pairs(summary: Summary) -> None:
    found = rates(summary, "splitkv", 8192)
    assert found == pytest.approx((47.021996, 40.140751, 47.577943, 42.405899), abs=1e-6)
    gap = largest_gap(found)
    assert gap is not None
    assert gap.below == 2
    assert gap.share == pytest.approx(0.620677, abs=1e-6)
    ordered = sorted(found)
    assert ordered[2] - ordered[1] == pytest.approx(4.616098, abs=1e-6)
    assert ordered[3] - ordered[0] == pytest.approx(7.437192, abs=1e-6)


@pytest.mark.parametrize(
    ("arm", "tokens", "pct"),
    [
        ("stock", 1024, 1.91998),
        ("splitkv", 1024, 0.72073),
        ("stock", 8192, 0.45378),
        ("splitkv", 8192, 16.79331),
        ("stock", 32768, 0.49559),
        ("splitkv", 32768, 5.11746),
    ],
)
def test_the_spread_of_every_cell(summary: Summary, arm: str, tokens: int, pct: float) -> None:
    assert cell(summary, arm, tokens).spread_pct == pytest.approx(pct, abs=1e-5)


@pytest.mark.parametrize(("tokens", "leverage"), [(8192, 6.03738), (32768, 21.26335)])
def test_the_leverage_of_the_fast_arm(summary: Summary, tokens: int, leverage: float) -> None:
    found = cell(summary, "splitkv", tokens).leverage
    assert found == pytest.approx(leverage, abs=5e-6)
    assert amplification(6.0373799) == pytest.approx(9.27225, abs=5e-6)


def test_the_jitter_that_would_explain_the_suspicious_cell(
    published_us: list[TrialRecord], summary: Summary
) -> None:
    records = [one for one in published_us if one.cell == Cell("splitkv", Condition(8192))]
    jitter_s = explaining_jitter_s([differences_s(one.pairs)[0] for one in records])
    short_s = [one.pairs[0].t_short_s for one in records]
    assert jitter_s is not None
    assert 1000 * jitter_s == pytest.approx(74.2739, abs=5e-5)
    assert 100 * jitter_s / mean(short_s) == pytest.approx(0.96800, abs=5e-6)
    assert jitter_s**2 / statistics.variance(short_s) == pytest.approx(0.0754845, abs=5e-8)
    said = " ".join(flag.figures for flag in cell(summary, "splitkv", 8192).flags)
    assert "jitter of 74.3 ms (0.97 % of T_short)" in said


def test_the_flags_of_the_suspicious_cell_and_of_no_other(summary: Summary) -> None:
    names = {str(one.cell): {flag.name for flag in one.flags} for one in summary.cells}
    assert names.pop("splitkv@8192") == {"suspect", "bimodal?", "prefill-dominated"}
    assert names.pop("splitkv@32768") == {"few-rounds", "prefill-dominated"}
    assert all(left == {"few-rounds"} for left in names.values())


def test_nothing_imported_is_called_proved_or_faster(summary: Summary) -> None:
    """Two rounds carry no verdict, and the code that ran is only what the source says it was."""
    assert (summary.identity, summary.isolation) == ("imported", "imported")
    assert [flag.name for flag in summary.flags] == ["imported"]
    assert {one.verdict for one in summary.effects} == {Verdict.INCONCLUSIVE}


def test_rounds_of_one_arm_alone_enter_an_imported_mean_and_are_told(summary: Summary) -> None:
    found = effect(summary, 8192)
    assert found.rounds == (2, 4)
    assert [flag.name for flag in found.flags] == ["unpaired"]
    assert effect(summary, 1024).flags == ()


@pytest.mark.parametrize(
    ("tokens", "of_rates", "of_times"),
    [(1024, 1.380246, 1.380356), (8192, 3.515827, 3.498104), (32768, 9.460952, 9.454816)],
)
def test_the_two_ratios(summary: Summary, tokens: int, of_rates: float, of_times: float) -> None:
    old, new = rates(summary, "stock", tokens), rates(summary, "splitkv", tokens)
    assert speedup(old, new) == pytest.approx(of_rates, abs=5e-7)
    assert speedup_of_mean_times(old, new) == pytest.approx(of_times, abs=5e-7)
    assert effect(summary, tokens).speedup == speedup(old, new)


def test_milliseconds_slopes_and_retention(summary: Summary) -> None:
    stock, splitkv = (mean_time_ms(summary, arm) for arm in ("stock", "splitkv"))
    assert stock == pytest.approx([26.741321, 79.388375, 261.911571], abs=5e-7)
    assert splitkv == pytest.approx([19.372777, 22.694687, 27.701393], abs=5e-7)
    slopes = [depth.two_point(DEPTHS, ms) for ms in (stock, splitkv)]
    assert slopes == pytest.approx([7.408337, 0.262368], abs=5e-7)
    fitted = [depth.least_squares(DEPTHS, ms) for ms in (stock, splitkv)]
    assert fitted == pytest.approx([7.413109, 0.247282], abs=5e-7)
    assert [ms[0] / ms[2] for ms in (stock, splitkv)] == pytest.approx(
        [0.1021006, 0.6993431], abs=5e-8
    )
    kept = [trend.retention_pct / 100 for trend in summary.depth]
    assert kept == pytest.approx([0.1020918, 0.6997921], abs=5e-8)
    assert depth.residuals_ms(DEPTHS, splitkv) == pytest.approx((-0.68, 0.87, -0.20), abs=0.01)


def test_the_uncertainty_of_slope_and_retention(summary: Summary) -> None:
    stock, splitkv = summary.depth
    assert stock.slope_se_ms_per_1000 == pytest.approx(0.0220, abs=5e-5)
    assert splitkv.slope_se_ms_per_1000 == pytest.approx(0.0224, abs=5e-5)
    for trend, low, high in ((stock, 10.09, 10.33), (splitkv, 67.9, 72.0)):
        interval = trend.retention_interval_pct
        assert interval is not None
        assert [interval.low, interval.high] == pytest.approx([low, high], abs=0.05)
        assert interval.level == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("tokens", "middle", "low", "high"),
    [
        (1024, 1.380301, 1.167110, 1.632435),
        (8192, 3.449047, 1.226370, 9.700107),
        (32768, 9.457884, 6.620528, 13.511243),
    ],
)
def test_the_t_interval_of_two_rounds(
    summary: Summary, tokens: int, middle: float, low: float, high: float
) -> None:
    logs = log_ratios(rates(summary, "stock", tokens), rates(summary, "splitkv", tokens)[:2])
    found = paired(logs)
    assert math.exp(mean(logs)) == pytest.approx(middle, abs=1e-6)
    assert [found.low, found.high] == pytest.approx([low, high], abs=1e-6)


def test_welchs_interval_of_four_against_two_rounds(summary: Summary) -> None:
    found = welch(rates(summary, "stock", 8192), rates(summary, "splitkv", 8192))
    assert found is not None
    assert [found.low, found.high] == pytest.approx([3.0780, 3.9958], abs=5e-5)
    assert math.sqrt(found.low * found.high) == pytest.approx(3.50700, abs=5e-6)


@pytest.mark.parametrize(
    ("tokens", "low", "high", "level"),
    [
        (1024, 1.362195, 1.398647, 2 / 3),
        (8192, 3.179479, 3.785706, 13 / 15),
        (32768, 9.196085, 9.727135, 2 / 3),
    ],
)
def test_the_range_of_observed_ratios_is_what_is_printed(
    summary: Summary, tokens: int, low: float, high: float, level: float
) -> None:
    found = extremes(rates(summary, "stock", tokens), rates(summary, "splitkv", tokens))
    assert effect(summary, tokens).interval == found
    assert [found.low, found.high] == pytest.approx([low, high], abs=1e-6)
    assert found.level == pytest.approx(level)


def test_harmonic_and_arithmetic_mean_of_the_suspicious_cell(summary: Summary) -> None:
    found = rates(summary, "splitkv", 8192)
    assert harmonic(found) == pytest.approx(44.06318, abs=5e-6)
    assert mean(found) == pytest.approx(44.28665, abs=5e-6)


def test_a_drowned_cell_enters_no_trend(summary: Summary) -> None:
    """Its "rate" is jitter: a retention of 700 % was seen, from prefills longer than whole runs."""
    whole = {trend.arm: trend.depths for trend in depth.trends(summary.cells)}
    assert whole["splitkv"] == DEPTHS
    drowned = tuple(
        replace(one, flags=(*one.flags, flag("drowned", str(one.cell), "planted")))
        if one.cell == Cell("splitkv", Condition(32768))
        else one
        for one in summary.cells
    )
    left = {trend.arm: trend.depths for trend in depth.trends(drowned)}
    assert left == {"stock": DEPTHS, "splitkv": DEPTHS[:2]}

"""Golden numbers: recomputed elsewhere from closed forms and published tables, held here to their digits."""

import math

import pytest

from abtest.analysis.classify import classify
from abtest.analysis.differential import amplification, drowned, estimate, explaining_jitter_s
from abtest.analysis.drift import exact_limit, kendall_p, kendall_s, limit
from abtest.analysis.effects import (
    extremes,
    interval,
    order_adjusted,
    paired,
    slot_effect_pct,
    speedup,
    welch,
)
from abtest.analysis.modes import critical_share, exact_critical_share, largest_gap, p_gap
from abtest.analysis.spread import exact_gate_pct, gate_pct, spread_pct
from abtest.analysis.variance import components
from abtest.model.trial import Pair, Status, TrialRecord

# Rates of the published experiment, tokens per second, in round order.
STOCK_1K, SPLIT_1K = (37.03973, 37.75778), (51.80551, 51.43349)
SPLIT_8K = (47.021996, 40.140751, 47.577943, 42.405899)
SPLIT_32K = (35.19863, 37.04721)


def same(found: tuple[float, ...], wanted: tuple[float, ...], tolerance: float) -> bool:
    return all(abs(a - b) <= tolerance for a, b in zip(found, wanted, strict=True))


def test_the_published_spreads_come_out() -> None:
    assert spread_pct(STOCK_1K) == pytest.approx(1.91998, abs=2e-4)
    assert spread_pct(SPLIT_8K) == pytest.approx(16.79331, abs=1e-5)
    assert spread_pct(SPLIT_8K[:2]) == pytest.approx(15.7894, abs=1e-4)
    assert spread_pct(SPLIT_32K) == pytest.approx(5.11746, abs=2e-4)
    assert spread_pct([1.0]) is None


def test_the_gap_of_the_published_cell_comes_out() -> None:
    gap = largest_gap(SPLIT_8K)
    assert gap is not None
    assert gap.share == pytest.approx(0.620677, abs=1e-6)
    assert gap.below == 2
    assert gap.p == pytest.approx(0.143886, abs=1e-6)
    assert largest_gap([1.0, 2.0, 3.0]) is None
    assert largest_gap([2.0] * 6) is None


@pytest.mark.parametrize(
    ("share", "count", "p"),
    [
        (0.5, 4, 0.25),
        (0.5, 5, 0.25),
        (0.5, 6, 0.1875),
        (0.5, 8, 0.078125),
        (0.5, 10, 0.02734375),
        (0.5, 12, 0.0087890625),
        (0.4, 10, 0.11752),
        (0.3, 10, 0.38977),
        (0.25, 6, 0.765625),
    ],
)
def test_p_gap_is_exact(share: float, count: int, p: float) -> None:
    assert p_gap(share, count) == pytest.approx(p, abs=6e-6)


@pytest.mark.parametrize(("count", "share"), [(4, 0.6838), (6, 0.5727), (8, 0.4790), (12, 0.3623)])
def test_the_critical_share_follows_its_formula(count: int, share: float) -> None:
    assert exact_critical_share(count) == pytest.approx(share, abs=5e-5)
    if count >= 6:
        assert critical_share(count) == pytest.approx(share, abs=5e-4)
    assert critical_share(14) < critical_share(12)


@pytest.mark.parametrize(
    ("count", "pct"), [(2, 6.0), (3, 7.175), (4, 7.865), (6, 8.724), (8, 9.278)]
)
def test_the_gate_follows_the_studentized_range(count: int, pct: float) -> None:
    assert exact_gate_pct(count) == pytest.approx(pct, abs=5e-4)
    assert gate_pct(count) == pytest.approx(pct, abs=0.05)
    assert gate_pct(14) > gate_pct(12)


@pytest.mark.parametrize(
    ("count", "s", "p"),
    [(4, 6, 0.08333), (5, 10, 0.016667), (6, 13, 0.016667), (7, 15, 0.030159), (8, 18, 0.031151)],
)
def test_kendalls_p_is_exact(count: int, s: int, p: float) -> None:
    assert kendall_p(s, count) == pytest.approx(p, abs=6e-6)
    assert kendall_p(0, count) == 1.0


def test_the_drift_limits_follow_the_exact_distribution() -> None:
    assert [limit(count) for count in range(5, 13)] == [
        exact_limit(count) for count in range(5, 13)
    ]
    assert limit(14) == exact_limit(14)


@pytest.mark.parametrize(("leverage", "factor"), [(6.0373799, 9.27225), (0.7, 1.83848), (20, 29.0)])
def test_the_amplification_of_jitter(leverage: float, factor: float) -> None:
    assert amplification(leverage) == pytest.approx(factor, abs=6e-6)


def test_the_jitter_that_explains_the_published_cell() -> None:
    jitter_s = explaining_jitter_s([56 / rate for rate in SPLIT_8K])
    assert jitter_s == pytest.approx(0.0742739, abs=1e-6)
    assert explaining_jitter_s([1.0]) is None
    assert drowned(0.5, 0.0742739)
    assert not drowned(1.2, 0.0742739)


def test_variance_components_of_a_worked_example() -> None:
    found = components([[1.20, 1.22, 1.21], [1.30, 1.33, 1.31], [1.19, 1.21, 1.20]])
    assert found is not None
    assert found.f == pytest.approx(81.769, abs=1e-3)
    assert found.degrees == (2, 6)
    assert found.between == pytest.approx(0.062361, abs=1e-6)
    assert found.within == pytest.approx(0.012019, abs=1e-6)
    assert found.standard_error == pytest.approx(0.036226, abs=1e-6)
    assert found.significant
    assert components([[1.0], [2.0]]) is None
    assert components([[1.0, 1.0], [2.0, 2.0]]) is None


def test_the_published_speedup_and_its_intervals() -> None:
    assert speedup(STOCK_1K, SPLIT_1K) == pytest.approx(1.380246, abs=2e-5)
    found = interval(STOCK_1K, SPLIT_1K, [-1, 1])
    assert found is not None
    assert same((found.low, found.high), (1.362195, 1.398647), 2e-6)
    assert found.level == pytest.approx(2 / 3)
    logs = [math.log(new / old) for old, new in zip(STOCK_1K, SPLIT_1K, strict=True)]
    t = paired(logs)
    assert same((t.low, t.high), (1.167110, 1.632435), 2e-5)


@pytest.mark.parametrize(
    ("count", "other", "level"), [(2, 2, 2 / 3), (3, 3, 0.9), (4, 4, 34 / 35), (2, 4, 13 / 15)]
)
def test_the_level_of_the_range_of_ratios_is_exact(count: int, other: int, level: float) -> None:
    assert extremes([1.0] * count, [2.0] * other).level == pytest.approx(level)


def test_unequal_rounds_lose_their_pairing() -> None:
    stock_8k = (12.56781, 12.62497)
    found = welch(stock_8k, SPLIT_8K)
    assert found is not None
    assert same((found.low, found.high), (3.0780, 3.9958), 1e-4)
    assert welch([1.0], [2.0, 2.1]) is None


def test_a_pure_slot_effect_is_taken_out_and_told() -> None:
    first = [True, False, False, True, False, True, True, False]
    jitter = [0.001, -0.001, 0.0005, -0.0005, 0.0, 0.0, 0.0005, -0.0005]
    logs = [
        math.log(1.1) + (-0.03 if early else 0.03) + e
        for early, e in zip(first, jitter, strict=True)
    ]
    shifts = [-1 if early else 1 for early in first]
    adjusted, plain = order_adjusted(logs, shifts), paired(logs)
    assert adjusted.low < 1.1 < adjusted.high
    assert adjusted.high - adjusted.low < (plain.high - plain.low) / 10
    assert slot_effect_pct(logs, shifts) == pytest.approx(3.0, abs=0.15)
    assert slot_effect_pct(logs, [1] * 8) is None


def test_no_interval_rests_on_normality_below_four_rounds() -> None:
    assert interval([1.0], [2.0], [1]) is None
    methods = {}
    for count in (2, 3, 4, 5, 6, 8):
        rates = [1.0 + 0.01 * index for index in range(count)]
        found = interval(
            rates,
            [2 * rate for rate in rates[::-1]],
            [1 - 2 * (index % 2) for index in range(count)],
        )
        assert found is not None
        methods[count] = found.method.split()[0]
    assert methods == {
        2: "range",
        3: "range",
        4: "paired",
        5: "paired",
        6: "order-adjusted",
        8: "order-adjusted",
    }


def record(pairs: list[tuple[float, float]], stamps: tuple[float, ...] = ()) -> TrialRecord:
    return TrialRecord(
        "r", "t", "s", "stock", 512, 1, 1, 1, 1, False, Status.OK, "", "docker", (8, 64),
        pairs=tuple(Pair(short, long, "short") for short, long in pairs), token_s_per_token=stamps,
    )  # fmt: skip


def test_five_pairs_take_the_median_and_fewer_the_mean() -> None:
    five = estimate(record([(1, 2), (1, 2), (1, 2), (1, 2), (1, 5)]))
    assert five.rate_tok_s == pytest.approx(56)
    four = estimate(record([(1, 2), (1, 2), (1, 2), (1, 6)]))
    assert four.rate_tok_s == pytest.approx(56 / 2)
    assert four.leverage == pytest.approx(1 / 2)


def test_the_standard_error_inside_a_trial() -> None:
    found = estimate(record([(0, 1.20), (0, 1.22), (0, 1.21)]))
    assert found.within_se_pct == pytest.approx(0.4771, abs=1e-4)
    assert found.rate_tok_s == pytest.approx(46.28099, abs=1e-5)
    assert estimate(record([(0, 1.0)])).within_se_pct is None


def test_a_difference_that_is_not_positive_is_no_rate() -> None:
    assert estimate(record([(2, 1)])).rate_tok_s is None
    assert estimate(record([(1, 2)], (0.02,))).timestamps_tok_s == pytest.approx(50)
    assert kendall_s([1, 1, 1]) == 0


ALTERNATING, THUE_MORSE = (1, 2, 1, 2, 1, 2, 1, 2), (1, 2, 2, 1, 2, 1, 1, 2)
LISTS = [
    ([37.03973, 37.75778], []),
    ([35.19863, 37.04721], []),
    ([47.02200, 40.14075], ["suspect"]),
    ([47.02200, 40.14075, 47.57794], ["suspect"]),
    ([47.02200, 40.14075, 47.57794, 42.40590], ["suspect", "bimodal?"]),
    ([100, 88, 99.5], ["suspect"]),
    ([100.0, 101.0, 100.1, 101.1], []),
    ([100, 85, 101, 86], ["suspect", "bimodal?"]),
    ([100, 96, 92, 88], ["suspect", "drift?"]),
    ([100, 101, 88, 100.5], ["suspect"]),
    ([96.05, 100, 100, 103.95], []),
    ([100, 97, 94, 91, 88], ["drift"]),
    ([100, 101, 99.5, 100.4, 88, 100.2], ["outlier"]),
    ([100, 85, 101, 86, 85.5, 100.5], ["bimodal"]),
    ([100, 101, 100.5, 86, 85, 85.5], ["drift"]),
    ([100, 92, 96, 104, 88, 99], ["suspect"]),
    ([47.0, 40.1, 47.6, 42.4, 46.9, 41.0, 47.3, 41.8], ["bimodal", "order-confounded"]),
    ([47.0, 40.1, 42.4, 47.6, 46.9, 41.0, 41.8, 47.3], ["bimodal"]),
    ([100, 101, 85, 100.5, 99.5, 86, 100.2, 99.8], ["bimodal"]),
    ([100, 101, 85, 100.5, 99.5, 99, 100.2, 99.8], ["outlier"]),
    ([100, 98, 97, 95, 94, 92, 90, 89], ["drift"]),
    ([100, 92, 96, 104, 88, 99, 94, 102], ["suspect"]),
    ([100, 102, 98, 101, 99, 103, 97, 100], []),
]  # fmt: skip


@pytest.mark.parametrize(("rates", "names"), LISTS, ids=[str(index) for index in range(len(LISTS))])
def test_every_golden_list_gets_exactly_its_flags(rates: list[float], names: list[str]) -> None:
    assert [finding.name for finding in classify(rates, ALTERNATING[: len(rates)])] == names


def test_order_confounded_needs_the_recorded_order() -> None:
    rates = [47.0, 40.1, 47.6, 42.4, 46.9, 41.0, 47.3, 41.8]
    assert [finding.name for finding in classify(rates, THUE_MORSE)] == ["bimodal"]
    published = [finding.name for finding in classify(SPLIT_8K, (2, 1, 1, 1))]
    assert published == ["suspect", "bimodal?"]


def test_a_step_in_time_is_a_drift_not_two_modes() -> None:
    (found,) = classify([100, 101, 100.5, 86, 85, 85.5], ALTERNATING[:6])
    assert found.figures.startswith("a step: 3 rounds near 85.50 and 3 near 100.50")

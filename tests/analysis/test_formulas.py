"""Closed forms that the flags and intervals lean on, against golden values, brute force and their limits."""

import math
from collections.abc import Callable

import pytest

from abtest.analysis.classify import classify
from abtest.analysis.differential import estimate, window_tokens
from abtest.analysis.drift import EXACT_TO, exact_limit, kendall_p, kendall_s, limit
from abtest.analysis.effects import extremes, order_adjusted, paired, t_quantile
from abtest.analysis.modes import critical_share, p_gap, p_gap_normal, unseen_p
from abtest.analysis.moments import deviation, mean, standard_error
from abtest.analysis.spread import gate_pct
from abtest.analysis.variance import components
from abtest.model.trial import Pair, TrialRecord
from abtest.plan import arm_order


def test_the_normal_null_of_four_rounds_is_exact() -> None:
    assert p_gap_normal(0.620677) == pytest.approx(0.09923, abs=5e-6)
    assert p_gap_normal(0.5) == pytest.approx(0.191306, abs=5e-7)
    assert p_gap_normal(0.0) == pytest.approx(1.0)


@pytest.mark.parametrize(("degrees", "t"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (5, 2.5706), (7, 2.3646)])  # fmt: skip
def test_students_quantiles(degrees: int, t: float) -> None:
    assert t_quantile(degrees) == pytest.approx(t, abs=5e-5)


@pytest.mark.parametrize(("degrees", "t"), [(3, 3.2469), (5, 2.6112), (7, 2.3981)])
def test_students_quantiles_of_a_sequential_gate(degrees: int, t: float) -> None:
    assert t_quantile(degrees, 1 - 0.0238) == pytest.approx(t, abs=2e-4)


def test_variance_components_with_their_mean_square_and_interval() -> None:
    groups = [[1.20, 1.22, 1.21], [1.30, 1.33, 1.31], [1.19, 1.21, 1.20]]
    found = components(groups)
    assert found is not None
    middle = mean([mean(group) for group in groups])
    assert middle == pytest.approx(1.241111, abs=5e-7)
    assert found.within**2 == pytest.approx(0.000144444, abs=5e-10)
    assert found.f * found.within**2 == pytest.approx(0.01181111, abs=5e-9)
    assert 100 * found.standard_error / middle == pytest.approx(2.919, abs=5e-4)
    assert 56 / middle == pytest.approx(45.12086, abs=1e-5)
    half_pct = 100 * t_quantile(2) * found.standard_error / middle
    assert half_pct == pytest.approx(12.56, abs=5e-3)


def test_the_error_inside_a_trial_in_its_own_units() -> None:
    row = [1.20, 1.22, 1.21]
    assert standard_error(row) == pytest.approx(0.005774, abs=5e-7)
    assert 56 / mean(row) * standard_error(row) / mean(row) == pytest.approx(0.22083, abs=1e-5)


def test_the_window_that_leaves_one_per_cent_of_error() -> None:
    assert window_tokens(0.0025 * 33, 0.0277, 3, 8) == 252


@pytest.mark.parametrize(("leverage", "bias_pct"), [(0.7, -0.557), (6, -5.857), (20, -19.857)])
def test_c2_a_dearer_first_run_biases_one_pair(
    make_trial: Callable[..., TrialRecord], leverage: float, bias_pct: float
) -> None:
    """Why a full warm-up comes first: one per cent of the prefill, amplified by the leverage."""
    difference_s = 1.0
    short_s = leverage * difference_s
    prefill_s = short_s - 8 / 56 * difference_s
    cold = Pair(short_s + 0.01 * prefill_s, short_s + difference_s, "short")
    record = make_trial("stock", 1, 1, 1.0, pairs=(cold,))
    found_s = 56 / (estimate(record).rate_tok_s or math.nan)
    assert 100 * (found_s - difference_s) / difference_s == pytest.approx(bias_pct, abs=5e-4)


def drift_bias(orders: list[str], power: int) -> float:
    """Log ratio of two equal arms on a machine whose log rate follows slot ** power."""
    places = {arm: [2 * n + order.index(arm) for n, order in enumerate(orders)] for arm in "AB"}
    ratios = [b**power - a**power for a, b in zip(places["A"], places["B"], strict=True)]
    found = paired(ratios)
    return math.log(found.low * found.high) / 2


def test_e3_drift_passes_through_a_fixed_order_and_cancels_in_ours() -> None:
    ours = ["".join(arm_order("AB", number)) for number in (1, 2, 3, 4)]
    assert drift_bias(["AB"] * 4, 1) == pytest.approx(1)
    assert drift_bias(["AB", "BA", "AB"], 1) == pytest.approx(1 / 3)
    assert drift_bias(ours, 1) == pytest.approx(0, abs=1e-12)
    assert drift_bias(ours, 2) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("count", "p"), [(6, "0.100"), (8, "0.029")])
def test_the_chance_of_modes_that_follow_the_order(count: int, p: str) -> None:
    rates = [100 + place % 2 * 15 + place / 10 for place in range(count)]
    bimodal, confounded = classify(rates, [1, 2] * (count // 2))
    assert (bimodal.name, confounded.name) == ("bimodal", "order-confounded")
    assert confounded.figures.endswith(f"p = {p}")


@pytest.mark.parametrize(
    ("count", "even", "uneven"), [(2, 0.5, 0.625), (4, 0.125, 0.3203), (8, 0.0078125, 0.1001)]
)
def test_the_chance_to_see_one_mode_only(count: int, even: float, uneven: float) -> None:
    assert unseen_p(count) == pytest.approx(even)
    assert unseen_p(count, 0.25) == pytest.approx(uneven, abs=5e-5)


def test_kendalls_s_agrees_with_counting_every_pair() -> None:
    values = [(7 * place * place + 3 * place) % 23 for place in range(60)]
    pairs = [(a, b) for place, a in enumerate(values) for b in values[place + 1 :]]
    assert kendall_s(values) == sum((b > a) - (b < a) for a, b in pairs)
    assert kendall_s(range(20_000)) == 20_000 * 19_999 // 2


def test_the_normal_limit_of_kendalls_s_meets_the_exact_one() -> None:
    exact, normal = kendall_p(exact_limit(EXACT_TO), EXACT_TO), kendall_p(200, EXACT_TO + 1)
    assert exact <= 0.05
    assert 0 < exact_limit(EXACT_TO + 1) - exact_limit(EXACT_TO) < 30
    assert normal < 0.05
    assert limit(5000) > limit(500)


def test_thresholds_stay_sound_for_many_rounds() -> None:
    for count in (13, 50, 400):
        assert p_gap(critical_share(count), count) == pytest.approx(0.10, abs=1e-6)
        assert gate_pct(count) > gate_pct(count - 1)
    assert p_gap(0.0001, 5000) == 1.0
    assert extremes([1.0] * 900, [2.0] * 900).level == 1.0


def test_after_the_last_look_what_is_suspect_is_called_unstable() -> None:
    rates = [100.0, 92, 96, 104, 88, 99, 94, 102, 90, 97, 103, 89]
    assert [one.name for one in classify(rates)] == ["unstable"]
    assert [one.name for one in classify(rates[:8])] == ["suspect"]


def test_an_outlier_is_told_with_mean_and_median() -> None:
    (found,) = classify([100, 101, 99.5, 100.4, 88, 100.2])
    assert found.figures.endswith("mean 98.18, median 100.10")


def test_the_order_effect_of_unequal_shifts_is_taken_out() -> None:
    """Three arms: the candidate stands one or two slots from the baseline."""
    shifts = [1, -1, 2, -2, 1, -1]
    logs = [0.2 + 0.01 * shift + e for shift, e in zip(shifts, (1e-4, -1e-4) * 3, strict=True)]
    found = order_adjusted(logs, shifts)
    assert found.low < math.exp(0.2) < found.high
    assert math.log(found.high / found.low) < 0.001
    assert deviation(logs) > 0.01

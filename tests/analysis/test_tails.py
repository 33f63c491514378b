"""Tails of F and t against scipy's, over what summaries ask for: few rounds and thousands of pairs."""

import math

import pytest
from scipy import special, stats

from abtest.analysis.tails import f_tail, t_quantile, t_tail

DEGREES = (1, 1.5, 2, 3, 4.7, 10, 39, 498, 9998, 1e5)


@pytest.mark.parametrize("degrees", DEGREES)
@pytest.mark.parametrize("level", [0.6, 0.9, 0.975, 0.9762, 0.995, 0.9999])
def test_the_quantile_of_t_is_scipys(degrees: float, level: float) -> None:
    expected = float(special.stdtrit(degrees, level))
    assert t_quantile(degrees, level) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("degrees", DEGREES)
@pytest.mark.parametrize("t", [0.0, 0.5, 2.0, 8.0, 30.0])
def test_the_tail_of_t_is_scipys(degrees: float, t: float) -> None:
    assert t_tail(t, degrees) == pytest.approx(float(stats.t.sf(t, degrees)), rel=1e-9)


@pytest.mark.parametrize("above", [1, 3, 7, 99, 499])
@pytest.mark.parametrize("below", [1, 5, 40, 2000, 40000])
def test_the_tail_of_f_is_scipys(above: int, below: int) -> None:
    for ratio in (1e-9, 0.2, 0.9, 1.0, 1.1, 1.5, 3.0, 20.0, 1e9):
        expected = float(special.fdtrc(above, below, ratio))
        assert f_tail(ratio, above, below) == pytest.approx(expected, rel=1e-9, abs=1e-200)


def test_ratios_at_the_ends_have_certain_chances() -> None:
    assert (f_tail(0.0, 3, 8), f_tail(math.inf, 3, 8)) == (1.0, 0.0)

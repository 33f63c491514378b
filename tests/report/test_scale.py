"""Axes: from zero where differences must not be enlarged, logarithmic where values lie far apart."""

import pytest

from abtest.report import scale


def texts(found: scale.Scale) -> list[str]:
    return [tick.text for tick in found.ticks]


def test_a_linear_axis_begins_at_zero_and_holds_every_value() -> None:
    found = scale.from_zero([41.0, 58.5], 100, 0)
    assert texts(found) == ["0", "20", "40", "60"]
    assert found.at(0) == 100
    assert found.at(30) == 50


@pytest.mark.parametrize(("values", "log"), [((30.0, 60.0), False), ((3.8, 51.0), True)])
def test_rates_far_apart_get_a_logarithmic_axis(values: tuple[float, ...], log: bool) -> None:  # noqa: FBT001 - both
    found = scale.rates(values, 100, 0)
    assert found.log is log
    assert all(0 <= found.at(value) < 100 for value in values)


def test_equal_ratios_take_equal_room() -> None:
    found = scale.places([512, 2048, 8192], 0, 100, log=True)
    assert [tick.at for tick in found.ticks] == [0, 50, 100]


def test_one_depth_stands_in_the_middle() -> None:
    assert 30 < scale.places([512], 0, 100, log=True).at(512) < 70


@pytest.mark.parametrize("values", [(1.01, 1.02), (0.4, 0.5), (2.6, 9.5), (0.001, 1000.0)])
def test_one_is_always_on_the_axis_of_ratios(values: tuple[float, ...]) -> None:
    found = scale.ratios(values, 0, 100)
    assert "1" in texts(found)
    assert 0 <= found.at(1.0) <= 100
    assert len(found.ticks) < 12


def test_deviations_are_symmetric() -> None:
    assert texts(scale.around([-3.0, 1.0], 0.0, 100, 0)) == ["-4", "-2", "0", "2", "4"]


def test_a_value_beyond_the_axis_stays_inside_the_drawing() -> None:
    found = scale.rates([3.8, 51.0], 100, 0)
    assert found.at(0.0) == 100
    assert found.at(1e9) == 0


def test_nothing_and_zero_are_axes_too() -> None:
    assert scale.from_zero([], 100, 0).at(0.5) == 50
    assert scale.from_zero([0.0], 100, 0).at(0) == 100

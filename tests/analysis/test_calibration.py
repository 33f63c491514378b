"""The statistics on worlds whose truth is known, few runs with fixed seeds; `make calibrate` runs the many."""

import pytest

from tools.calibration import information, studies
from tools.calibration.studies import STATES, TRUTHS
from tools.calibration.worlds import WORLDS

JUDGED = [name for name, world in WORLDS.items() if not world.stalls]


@pytest.mark.parametrize("world", WORLDS)
def test_no_arm_wins_an_a_a_experiment_more_often_than_it_may(world: str) -> None:
    found = studies.false_winners(WORLDS[world], 6, 300, seed=1)
    assert found.pct <= 5 + found.error_pct


@pytest.mark.parametrize("count", [4, 6, 8])
@pytest.mark.parametrize("world", JUDGED)
def test_intervals_hold_the_truth_as_often_as_they_say(world: str, count: int) -> None:
    found = studies.coverage(WORLDS[world], count, 2000, seed=1)
    assert 94 - found.error_pct <= found.pct <= 97 + found.error_pct


@pytest.mark.parametrize("world", ["normal", "normal, linear drift of 1 % per trial"])
def test_a_gate_at_its_edge_is_met_in_one_case_of_twenty(world: str) -> None:
    met, failed = studies.gate_errors(WORLDS[world], 20_000, seed=1)
    assert met.pct <= 5 + met.error_pct
    assert failed.pct <= 5 + failed.error_pct


def test_one_look_says_of_a_cell_what_was_worked_out_before() -> None:
    """Per cent of cells at 8 rounds, from an independent simulation: ok, suspect, outlier, drift, bimodal."""
    expected = {
        "one mode, normal 2 %": (97, 2, 0, 0, 0),
        "one mode, normal 5 %": (11, 78, 5, 3, 3),
        "one mode, uniform 5 %": (5, 79, 3, 3, 9),
        "two modes 50/50, 1 %": (1, 0, 5, 5, 89),
        "two modes 50/50, 2 %": (1, 17, 6, 5, 71),
        "two modes 25/75, 2 %": (10, 13, 25, 5, 47),
        "drift 2 % per round": (0, 0, 0, 100, 0),
    }
    for truth, shares in expected.items():
        found = studies.states(TRUTHS[truth], 8, 1500, seed=1)
        assert [found[state].pct for state in STATES] == pytest.approx(shares, abs=4), truth


def test_a_gap_in_flat_noise_counts_as_two_modes_in_one_case_of_ten() -> None:
    for count in (4, 6, 8, 12):
        found = studies.wide_gaps(TRUTHS["one mode, uniform 5 %"], count, 4000, seed=1)
        assert found.pct == pytest.approx(10, abs=1.5)


@pytest.mark.parametrize("prefill", [information.jittering, information.stalling])
def test_the_estimator_in_force_is_worth_four_times_a_single_pair(
    prefill: information.Prefill,
) -> None:
    found = information.worth(prefill, 0.005, 5, 400, seed=1)
    assert information.gain(found.in_force, found.single, start_s=0, pairs=5) >= 4
    assert found.in_force < found.pairs < found.single


def test_scatter_between_sandboxes_is_beyond_any_estimator_inside_one() -> None:
    """A negative control: the gain must fall where the model says that it does."""
    found = information.worth(information.jittering, 0.02, 5, 400, seed=1)
    assert information.gain(found.in_force, found.single, start_s=0, pairs=5) < 1

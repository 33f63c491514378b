"""From samples to a summary: phases apart, first and minimum from all of it, gathered over cards."""

from dataclasses import replace

import pytest

from abtest.model.telemetry import CardProcess, Series, Window
from abtest.telemetry.series import csv_text, owned_by, summarise
from tests.telemetry.conftest import series

PAIR = Window("pair", 100.0, 102.0, decode_s=101.86)


def test_c28_decode_is_split_from_prefill_at_the_first_token() -> None:
    """Nineteen samples of prefill at 600 W, one of decode at 300 W: a mean over all would say 585 W."""
    watts = [600.0] * 19 + [300.0]
    seen = summarise(series({"gpu0.power_w": watts}), [PAIR])
    assert seen.split == "stamped"
    assert seen.phases["prefill"]["n"] == 19
    assert seen.phases["decode"] == {
        "n": 1, "sm_mhz": None, "mem_mhz": None, "power_w": 300, "temp_c": None, "busy_pct": None, "mem_busy_pct": None,
    }  # fmt: skip


def test_samples_outside_of_the_timed_windows_are_in_no_phase() -> None:
    seen = summarise(
        series({"gpu0.power_w": [50.0] * 20}), [Window("warmup", 100, 102, 101), Window("pair", 500, 501, 500.5)]
    )  # fmt: skip
    assert seen.phases == {}
    assert seen.samples == 20
    assert seen.figures["min_sm_mhz"] is None


def test_without_stamps_and_pairs_nothing_is_split() -> None:
    seen = summarise(series({"gpu0.sm_mhz": [900.0] * 20}), [Window("pair", 100, 102)])
    assert seen.split == "none"
    assert seen.phases == {}
    assert seen.figures["first_sm_mhz"] == 900
    estimated = summarise(series({"gpu0.sm_mhz": [900.0] * 20}), [replace(PAIR, estimated=True)])
    assert estimated.split == "estimated"


def test_d3_d5_first_and_lowest_clock_come_from_the_untrimmed_series() -> None:
    clocks = [345.0, *[1965.0] * 10, 1580.0, *[1965.0] * 8]
    seen = summarise(series({"gpu0.sm_mhz": clocks, "gpu0.sm_max_mhz": [1980.0] * 20}), [PAIR])
    assert seen.figures["first_sm_mhz"] == 345
    assert seen.figures["min_sm_mhz"] == 345
    assert seen.figures["sm_max_mhz"] == 1980
    assert seen.figures["decode_sm_pct_of_cap"] == pytest.approx(99.24, abs=0.01)


def test_d10_a_link_is_judged_by_the_most_it_reached() -> None:
    seen = summarise(series({"gpu0.link_gen": [1.0] * 15 + [4.0] * 5}), [PAIR])
    assert seen.figures["link_gen"] == 4


def test_over_cards_the_slowest_clock_and_the_sum_of_power_count() -> None:
    columns = {
        "gpu0.sm_mhz": [1900.0] * 20, "gpu1.sm_mhz": [1500.0] * 20,
        "gpu0.power_w": [300.0] * 20, "gpu1.power_w": [200.0] * 20,
        "gpu0.sm_max_mhz": [1980.0] * 20, "gpu1.sm_max_mhz": [1980.0] * 20,
    }  # fmt: skip
    seen = summarise(series(columns), [PAIR])
    assert seen.phases["decode"]["sm_mhz"] == 1500
    assert seen.phases["decode"]["power_w"] == 500
    assert seen.figures["decode_sm_pct_of_cap"] == pytest.approx(75.76, abs=0.01)
    columns["gpu1.power_w"] = [None] * 20  # type: ignore[list-item]  # a column that went silent
    assert summarise(series(columns), [PAIR]).phases["decode"]["power_w"] is None


def test_only_the_cards_that_own_processes_use_are_summarised() -> None:
    columns = {"gpu0.power_w": [300.0] * 20, "gpu1.power_w": [20.0] * 20}
    seen = summarise(
        series(columns, processes=(CardProcess("gpu0", 5, ours=True),)),
        [PAIR],
    )
    assert seen.phases["decode"]["power_w"] == 300
    assert seen.foreign == ()


def test_a_process_of_somebody_else_is_named_and_an_unknown_one_is_not_accused() -> None:
    processes = (CardProcess("gpu0", 5, ours=False), CardProcess("gpu0", 6, ours=None))
    seen = summarise(series({"gpu0.power_w": [1.0] * 20}, processes=processes), [PAIR])
    assert seen.foreign == ("gpu0: pid 5",)


def test_another_runs_container_is_foreign_although_it_started_like_ours() -> None:
    processes = (
        CardProcess("gpu0", 5, ours=True, cgroup="0::/docker/aaa"),
        CardProcess("gpu0", 6, ours=True, cgroup="0::/docker/bbb"),
    )
    found = owned_by(series({"gpu0.power_w": [1.0]}, processes=processes), "aaa")
    assert [one.ours for one in found.processes] == [True, False]
    assert owned_by(found, None) is found


def test_d6_reasons_that_slow_a_card_are_named_and_the_others_are_not() -> None:
    masks = [1.0] * 18 + [4.0 + 2.0] * 2  # idle; then power cap and the user's own clocks
    assert summarise(series({"gpu0.reasons": masks}), [PAIR]).reasons == ("power-cap",)
    assert summarise(series({"gpu0.reasons": [0.0] * 20}), [PAIR]).reasons == ()
    assert summarise(series({"gpu0.sm_mhz": [0.0] * 20}), [PAIR]).reasons is None


def test_counters_are_differences_and_one_reading_is_none() -> None:
    columns: dict[str, list[float | None]] = {
        "mem.swapped_pages": [7.0, *[None] * 9, *[300.0] * 10],
        "cpu.throttles": [5.0] + [None] * 19,
        "cpu.other_cores": [None] * 10 + [2.0] * 10,
    }
    seen = summarise(series(columns), [PAIR])
    assert seen.figures["swapped_pages"] == 293
    assert seen.figures["cpu_throttles"] is None
    assert seen.figures["other_cores"] == 2
    assert "lost" not in seen.figures  # no card, no figures of cards


def test_the_sidecar_leaves_empty_what_was_not_read() -> None:
    text = csv_text(Series(0.1, ("a", "b"), ((1.0, (None, 0.0)), (1.1, (2.5, None)))))
    assert text == "monotonic_s,a,b\n1.0000,,0\n1.1000,2.5,\n"


def test_an_empty_series_summarises_to_nothing_known() -> None:
    seen = summarise(Series(0.2), [])
    assert (seen.samples, seen.split, seen.phases, seen.reasons) == (0, "none", {}, None)
    assert seen.sampler_cpu_pct is None
    assert set(seen.figures.values()) == {None}

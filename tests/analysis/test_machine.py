"""What the machine did becomes flags beside the number, and never changes a number."""

from dataclasses import replace
from typing import Any

import pytest

from abtest.analysis import machine, power
from abtest.analysis.kvcache import kv_cache, ns_per_kib
from abtest.analysis.summary import summarize
from abtest.model.flag import Flag
from abtest.model.names import Cell, Condition
from abtest.model.telemetry import Telemetry
from abtest.model.trial import Pair, Status, TrialRecord


def watched(
    *,
    reasons: tuple[str, ...] | None = (),
    idle_s: float | None = 1.0,
    decode: dict[str, float | None] | None = None,
    **figures: float | None,
) -> Telemetry:
    phases = {"decode": decode or {}}
    return Telemetry(0.2, 50, "stamped", phases, figures, reasons=reasons, idle_s=idle_s)


def trial(
    arm: str = "stock",
    round_: int = 1,
    *,
    rate: float = 100.0,
    seen: Telemetry | None = None,
    depth: int = 512,
    **more: Any,
) -> TrialRecord:
    base = TrialRecord(
        run="r", trial=f"{arm}-{depth}-{round_}", spec_sha256="0", arm=arm, depth=depth, batch=1, round=round_, slot=1,
        order=round_, discarded=False, status=Status.OK, started_at="", isolation="docker", tokens=(8, 64),
        pairs=(Pair(0.1, 0.1 + 56 / rate, "short"),), telemetry=seen,
        environment={"machine.cpu.cores": "8", "engine.tensor_parallel": "1"},
    )  # fmt: skip
    return replace(base, **more)


def names(records: list[TrialRecord]) -> dict[str, str]:
    flags = machine.of_cell(Cell("stock", Condition(512)), records, machine.usual_gap_s(records))
    return {one.name: one.figures for one in flags}


def test_d5_a_fallen_clock_stands_beside_the_rate_with_its_reason() -> None:
    hot = watched(
        reasons=("software-thermal",), decode_sm_pct_of_cap=79.8, decode_mem_pct_of_cap=100.0
    )
    assert names([trial(seen=watched()), trial(round_=2, seen=hot)]) == {
        "throttled": "1 of 2 trials, such as software-thermal (sm clock 79.8 % of its cap, mem clock 100.0 % of its cap)"
    }


def test_d6_a_power_cap_is_flagged_with_both_clocks_and_nothing_is_dropped() -> None:
    capped = watched(reasons=("power-cap",), decode_sm_pct_of_cap=70.0, decode_mem_pct_of_cap=100.0)
    records = [trial(arm, r, seen=capped) for r in (1, 2, 3, 4) for arm in ("stock", "fast")]
    summary = summarize(records, run="r", experiment="e", baseline="stock", arms=("stock", "fast"))
    assert [cell.n for cell in summary.cells] == [4, 4]
    assert all("throttled" in {one.name for one in cell.flags} for cell in summary.cells)


def test_d9_low_clocks_without_readable_reasons_are_said_and_unread_clocks_are_not_accused() -> (
    None
):
    assert "reasons cannot be read" in names([trial(seen=watched(reasons=None, decode_sm_pct_of_cap=60.0))])["throttled"]  # fmt: skip
    assert names([trial(seen=watched(reasons=(), decode_sm_pct_of_cap=60.0))]) == {}
    assert names([trial(seen=watched(reasons=None, decode_sm_pct_of_cap=None))]) == {}
    assert names([trial(seen=None)]) == {}


def test_d3_a_slow_first_clock_is_an_idle_gap() -> None:
    slow = watched(first_sm_mhz=345.0, decode={"sm_mhz": 1965.0})
    assert "first clock 345 MHz, later 1965 MHz" in names([trial(seen=slow)])["idle-gap"]
    quick = watched(first_sm_mhz=1950.0, decode={"sm_mhz": 1965.0})
    assert names([trial(seen=quick)]) == {}


def test_an_unusual_gap_before_a_trial_is_flagged_and_usual_ones_are_not() -> None:
    usual = [trial(round_=r, seen=watched(idle_s=2.0)) for r in (1, 2, 3)]
    assert names(usual) == {}
    late = trial(round_=4, seen=watched(idle_s=600.0))
    assert "a gap of 600 s before it, 2.0 s is usual" in names([*usual, late])["idle-gap"]


def test_load_of_other_processes_is_judged_against_the_cores() -> None:
    def said(others: float | None) -> dict[str, str]:
        return names([trial(seen=watched(other_cores=others))])

    assert said(0.7) == said(None) == {}
    assert "0.9 of 8 cores kept busy by others" in said(0.9)["host-busy"]


def test_void_trials_are_counted_by_reason_and_enter_no_number() -> None:
    void = trial("stock", 1, rate=50.0, status=Status.VOID, reason="swap: 9 pages")
    records = [void, *(trial(arm, r) for r in (1, 2) for arm in ("stock", "fast"))]
    summary = summarize(records, run="r", experiment="e", baseline="stock", arms=("stock", "fast"))
    assert {one.name: one.figures for one in summary.flags}["void-trials"] == "1 swap"
    assert summary.cells[0].rates_tok_s == pytest.approx((100.0, 100.0))
    assert summary.cells[0].voids == 1


def test_d9_d10_a_link_below_its_maximum_under_load_is_flagged_and_an_unread_one_is_not() -> None:
    def said(**figures: float | None) -> list[str]:
        seen = replace(watched(), figures=figures)
        return [one.figures for one in machine.links([trial(seen=seen)])]

    assert said(link_width=8.0, link_width_max=16.0) == ["x8 of x16 in 1 trials"]
    assert said(link_gen=1.0, link_gen_max=5.0) == ["generation 1 of generation 5 in 1 trials"]
    assert said(link_width=16.0, link_width_max=16.0, link_gen=5.0, link_gen_max=5.0) == []
    assert said(link_width=None, link_width_max=16.0) == []


def followed(records: list[TrialRecord]) -> list[Flag]:
    summary = summarize(records, run="r", experiment="e", baseline="stock", arms=("stock", "fast"))
    return [one for one in summary.flags if one.name == "follows-machine"]


CLOCKS = (1965.0, 1900.0, 1850.0, 1700.0, 1800.0, 1600.0)


def followers(noise: float) -> list[TrialRecord]:
    """Rates that follow the clock, in two cells of very different rate."""
    return [
        trial(arm, r, rate=base * (clock / 1965) * (1 + noise * (-1) ** r), seen=watched(decode={"sm_mhz": clock}))
        for arm, base in (("stock", 30.0), ("fast", 240.0))
        for r, clock in enumerate(CLOCKS, start=1)
    ]  # fmt: skip


def test_d7_a_rate_that_follows_the_clock_is_told_with_r_and_n() -> None:
    found = followed(followers(0.01))
    assert [one.name for one in found] == ["follows-machine"]
    assert "core clock of the card: r = +0.9" in found[0].figures
    assert "(n = 12)" in found[0].figures


def test_d7_a_weak_or_tiny_correlation_is_not_told() -> None:
    assert list(followed(followers(0.5))) == []
    assert list(followed(followers(0.01)[:3])) == []
    constant = [replace(one, telemetry=watched(decode={"sm_mhz": 1965.0})) for one in followers(0.0)]  # fmt: skip
    assert list(followed(constant)) == []


def test_the_difference_between_arms_is_no_correlation_with_the_slot() -> None:
    records = [
        trial(arm, r, rate=rate + 0.01 * r, seen=watched(), slot=slot)
        for r in range(1, 7)
        for arm, rate, slot in (("stock", 30.0, 1), ("fast", 240.0, 2))
    ]
    assert list(followed(records)) == []


def powered(watts: dict[str, dict[int, float]]) -> list[TrialRecord]:
    config = '{"num_hidden_layers": 16, "num_key_value_heads": 4, "head_dim": 256, "dtype": "bfloat16"}'  # fmt: skip
    environment = {
        "engine.tensor_parallel": "1", "model.config": config, "machine.gpu.compute_units": "2 x 132",
    }  # fmt: skip
    return [
        trial(arm, 1, depth=depth, seen=watched(decode={"power_w": w}), environment=environment)
        for arm, by_depth in watts.items()
        for depth, w in by_depth.items()
    ]


def test_power_that_falls_with_depth_in_one_arm_only_is_a_finding() -> None:
    records = powered({"stock": {1024: 410, 32768: 280}, "split": {1024: 420, 32768: 470}})
    found = list(power.findings(records))
    assert [(one.name, one.where) for one in found] == [("power-falls", "stock@32768")]
    assert "stock 410 W at 1024, 280 W at 32768; split 420 W at 1024, 470 W at 32768" in found[0].figures  # fmt: skip
    assert "4 KV heads x batch 1 give 4 work items to 132 compute units" in found[0].figures


@pytest.mark.parametrize(
    "watts",
    [
        {"stock": {1024: 410, 32768: 280}, "split": {1024: 420, 32768: 300}},
        {"stock": {1024: 410, 32768: 405}, "split": {1024: 420, 32768: 470}},
        {"stock": {1024: 410, 32768: 280}, "split": {1024: 420}},
    ],
)
def test_power_that_falls_in_both_or_in_none_is_no_finding(
    watts: dict[str, dict[int, float]],
) -> None:
    assert list(power.findings(powered(watts))) == []


def test_the_trend_has_bytes_and_cost_per_kib_beside_the_slope() -> None:
    records = [
        *powered({"stock": {1024: 410, 32768: 280}}),
        trial("stock", 2, depth=1024),
    ]
    silent = [replace(one, environment={}) for one in records]
    summary = summarize(silent, run="r", experiment="e", baseline="stock", arms=("stock",))
    assert summary.depth[0].kv_bytes_per_position is None
    summary = summarize(records, run="r", experiment="e", baseline="stock", arms=("stock",))
    trend = summary.depth[0]
    assert trend.kv_bytes_per_position == 65536
    assert trend.ns_per_kib == pytest.approx(ns_per_kib(trend.slope_ms_per_1000, 65536))


@pytest.mark.parametrize(
    ("config", "ranks", "expected"),
    [
        ({"num_key_value_heads": 8, "head_dim": 128}, 4, 32 * 2 * 256 * 2),
        ({"num_key_value_heads": 2, "head_dim": 128}, 4, 32 * 1 * 256 * 2),  # fewer heads than ranks
        ({"num_attention_heads": 16, "hidden_size": 2048}, 1, 32 * 16 * 256 * 2),
        ({"text_config": {"num_key_value_heads": 1, "head_dim": 64}}, 1, 32 * 128 * 2),
        ({"num_key_value_heads": 1, "head_dim": 64, "full_attention_interval": 4}, 1, 8 * 128 * 2),
        (
            {"num_key_value_heads": 1, "head_dim": 64, "layer_types": ["full_attention", "sliding_attention"]},
            1, 1 * 128 * 2,
        ),
        ({"num_key_value_heads": 1, "head_dim": 64, "layer_types": {"full_attention": 3, "linear_attention": 9}}, 1, 3 * 128 * 2),
        ({"kv_lora_rank": 512, "qk_rope_head_dim": 64, "num_attention_heads": 128}, 8, 32 * 576 * 2),
        ({"head_dim": 64}, 1, None),
        ({"num_key_value_heads": 1}, 1, None),
    ],
)  # fmt: skip
def test_cache_bytes_come_from_layers_heads_width_and_type(
    config: dict[str, Any], ranks: int, expected: int | None
) -> None:
    found = kv_cache({"num_hidden_layers": 32, "torch_dtype": "bfloat16", **config}, ranks)
    assert (found and found.bytes_per_position) == expected


def test_the_cache_has_a_type_of_its_own() -> None:
    config = {"num_hidden_layers": 1, "num_key_value_heads": 1, "head_dim": 64, "dtype": "bfloat16"}
    half, eighth = kv_cache(config, 1), kv_cache(config, 1, "fp8")
    assert half is not None
    assert eighth is not None
    assert half.bytes_per_position == 2 * eighth.bytes_per_position
    assert kv_cache(config, 1, "fp3") is None
    assert kv_cache({**config, "dtype": None}, 1) is None


def test_a_host_that_changes_between_trials_is_found_without_naming_the_field_anywhere() -> None:
    records = [trial(arm, r) for r in (1, 2) for arm in ("stock", "fast")]
    changed = replace(records[2], environment={**records[2].environment, "machine.anything": "new"})

    def flags(ones: list[TrialRecord]) -> dict[str, str]:
        summary = summarize(ones, run="r", experiment="e", baseline="stock", arms=("stock", "fast"))
        return {one.name: one.figures for one in summary.flags}

    assert "environment-changed" not in flags(records)
    assert "machine.anything" in flags([*records[:2], changed, records[3]])["environment-changed"]
    moved = replace(records[2], host="another machine")
    assert "host" in flags([*records[:2], moved, records[3]])["environment-changed"]

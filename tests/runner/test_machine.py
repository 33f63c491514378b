"""What voids a trial: the machine's state by a fixed rule; a missing half voids nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from abtest.model.telemetry import Telemetry
from abtest.runner.machine import lost_by_log, throttle, void_reason
from abtest.spec.telemetry import RULES


def seen(
    reasons: tuple[str, ...] | None = (), foreign: tuple[str, ...] = (), **figures: float | None
) -> Telemetry:
    return Telemetry(0.2, 100, figures=figures, reasons=reasons, foreign=foreign)


def test_d5_a_hot_card_below_its_cap_is_throttled() -> None:
    hot = seen(("software-thermal",), decode_sm_pct_of_cap=79.8, decode_mem_pct_of_cap=100.0)
    assert throttle(hot) == ("throttled: sm clock at 79.8 % of its cap, reasons: software-thermal")


@pytest.mark.parametrize(
    ("reasons", "sm_pct", "why"),
    [
        ((), 60.0, "low clocks alone: the user locked them"),
        (None, 60.0, "no reason can be read"),
        (("hardware-thermal",), 97.0, "a reason alone: the clock is at its cap"),
        (("hardware-thermal",), None, "no clock can be read"),
    ],
)
def test_half_of_the_rule_voids_nothing(
    reasons: tuple[str, ...] | None, sm_pct: float | None, why: str
) -> None:
    assert throttle(seen(reasons, decode_sm_pct_of_cap=sm_pct)) is None, why


def test_d6_a_power_cap_voids_only_where_the_memory_clock_fell_too() -> None:
    capped = seen(("power-cap",), decode_sm_pct_of_cap=70.0, decode_mem_pct_of_cap=100.0)
    assert throttle(capped) is None
    starved = seen(("power-cap",), decode_sm_pct_of_cap=70.0, decode_mem_pct_of_cap=50.0)
    assert throttle(starved) is not None
    both = seen(("power-cap", "hardware"), decode_sm_pct_of_cap=70.0)
    assert throttle(both) is not None


@pytest.mark.parametrize(
    ("state", "name"),
    [
        (seen(lost=1.0), "gpu-lost"),
        (seen(foreign=("gpu0: pid 7",)), "foreign-process"),
        (seen(link_width=8.0), "link-narrower"),
        (seen(swapped_pages=256.0), "swap"),
        (seen(("hardware",), decode_sm_pct_of_cap=50.0), "throttled"),
    ],
)
def test_each_rule_voids_and_can_be_switched_off(state: Telemetry, name: str) -> None:
    reason = void_reason(state, RULES, link_width=16.0)
    assert reason is not None
    assert reason.startswith(f"{name}: ")
    assert void_reason(state, (), link_width=16.0) is None


def test_d9_missing_readings_void_nothing_and_are_not_zero() -> None:
    nothing = seen(None, lost=None, link_width=None, swapped_pages=None)
    assert void_reason(nothing, RULES, link_width=16.0) is None
    assert void_reason(seen(link_width=8.0), RULES, link_width=None) is None
    assert void_reason(seen(swapped_pages=255.0, link_width=16.0), RULES, link_width=16.0) is None


def test_f6_engines_say_in_their_logs_that_a_card_is_gone() -> None:
    assert lost_by_log("RuntimeError: Failed to initialize NVML: Unknown Error") is not None
    assert lost_by_log("NVRM: Xid 79, GPU has fallen off the bus.") is not None
    assert lost_by_log("CUDA out of memory; 3 GPUs lost no time") is None


def test_f6_a_trial_whose_log_says_so_is_void_not_failed(
    make_world: Callable[..., Any],
) -> None:
    from abtest.model.trial import Status
    from abtest.runner.campaign import run_campaign
    from abtest.runtimes.simulated import Truth

    name = "r01-512-s2-fast"
    world = make_world(Truth(fail={name: 1}, last_words={name: "Failed to initialize NVML"}))
    assert run_campaign(world.setup, world.plan, world.sink, world.ports)
    void = [record for record in world.sink.records if record.status is Status.VOID]
    assert [record.trial for record in void] == [name]
    assert (void[0].reason or "").startswith("gpu-lost")
    assert world.sink.superseded == ["r01-512-s1-stock"]
    assert f"{name}.2" in [record.trial for record in world.sink.records if record.counts]

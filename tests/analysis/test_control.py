"""What was planted per token is read from the recorder, and what was found must hold it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from abtest.analysis.control import control_results, noise_floors
from abtest.model.control import ControlResult, Outcome
from abtest.model.result import Summary
from abtest.model.trial import RouteCount, TrialRecord

MakeRun = Callable[..., list[TrialRecord]]
Summarise = Callable[..., Summary]
# 8 and 64 tokens are generated while routes are recorded; the first of each comes from the prefill.
TWO_CALLS = (
    RouteCount(0, "prefill", {"split": False}, 99),
    RouteCount(0, "decode", {"split": False}, 100),
    RouteCount(0, "decode", {"split": True}, 40),
    RouteCount(1, "decode", {"split": False}, 140),
)


def results(
    records: Sequence[TrialRecord], summarise: Summarise, per_call_ms: float = 0.5
) -> tuple[ControlResult, ...]:
    summary = summarise(list(records), same_routes=True)
    return control_results(summary, list(records), per_call_ms)


def planted(
    make_run: MakeRun, found_ms: Sequence[float], routes: tuple[RouteCount, ...] = TWO_CALLS
) -> list[TrialRecord]:
    """Four rounds of 20 ms per token, the second arm slower by so much."""
    return make_run([50.0] * 4, [1000 / (20 + ms) for ms in found_ms], routes=routes)


@pytest.mark.parametrize(
    ("routes", "calls"),
    [
        (TWO_CALLS, 2.0),
        ((*TWO_CALLS, RouteCount(1, "decode", {"split": True}, 70)), 3.0),  # the slowest rank
        (TWO_CALLS[:1], 0.0),
        ((), 0.0),
    ],
)
def test_calls_per_token_are_the_decode_calls_of_the_busiest_rank(
    routes: tuple[RouteCount, ...], calls: float, make_run: MakeRun, summarise: Summarise
) -> None:
    (one,) = results(planted(make_run, [1.0, 1.01, 0.99, 1.0], routes), summarise)
    assert one.calls_per_token == calls
    assert one.planted_ms == 0.5 * calls
    assert (one.outcome is Outcome.NOT_MEASURED) == (calls == 0)


@pytest.mark.parametrize(
    ("found_ms", "outcome"),
    [
        ([1.0, 1.02, 0.98, 1.01], Outcome.FOUND),
        ([0.5, 0.52, 0.48, 0.51], Outcome.MISSED),
        ([1.5, 1.52, 1.48, 1.51], Outcome.MISSED),
        ([-1.0, -1.02, -0.98, -1.01], Outcome.MISSED),
        ([0.2, 1.9, 0.1, 1.6], Outcome.TOO_NOISY),
    ],
)
def test_the_interval_must_hold_the_planted_amount_and_not_nothing(
    found_ms: Sequence[float], outcome: Outcome, make_run: MakeRun, summarise: Summarise
) -> None:
    (one,) = results(planted(make_run, found_ms), summarise)
    assert one.outcome is outcome
    assert one.found_ms == pytest.approx(sum(found_ms) / 4)
    assert one.level == pytest.approx(0.95)


def test_several_conditions_share_the_error(make_run: MakeRun, summarise: Summarise) -> None:
    records = planted(make_run, [1.0, 1.02, 0.98, 1.01])
    deeper = [replace(one, depth=1024, trial=f"{one.trial}-deep") for one in records]
    found = results([*records, *deeper], summarise)
    assert [one.level for one in found] == pytest.approx([0.975, 0.975])


def test_equal_routes_are_a_fault_in_a_comparison_and_none_in_a_control(
    make_run: MakeRun, summarise: Summarise
) -> None:
    records = planted(make_run, [1.0, 1.02, 0.98, 1.01])
    assert "routes-equal" in {one.name for one in summarise(records).flags}
    assert "routes-equal" not in {one.name for one in summarise(records, same_routes=True).flags}


def test_the_floor_is_the_farther_end_of_the_interval(
    make_run: MakeRun, summarise: Summarise
) -> None:
    records = make_run([50.0, 50.1, 49.9, 50.0], [50.2, 50.0, 50.1, 50.3])
    (floor,) = noise_floors(summarise(records))
    assert floor.low < 1 < floor.high
    assert floor.floor_pct == pytest.approx(100 * max(1 - floor.low, floor.high - 1))
    assert not floor.differs
    assert noise_floors(summarise(records[:6])) == ()

"""From records to statements: each guard that stands between numbers and a claim, with its fault planted."""

from collections.abc import Callable

import pytest

from abtest.analysis.verdict import DISTURBED, FORBIDDING, INVALIDATING, verdict
from abtest.model.result import Difference, Effect, Interval, Summary, Verdict
from abtest.model.trial import (
    Outputs,
    Pair,
    RankIdentity,
    RouteCount,
    Status,
    TrialRecord,
)

Make = Callable[..., list[TrialRecord]]
Summarise = Callable[..., Summary]
OLD, NEW = (50.0, 50.2, 49.9, 50.1), (75.1, 75.0, 75.2, 74.9)


def only(summary: Summary) -> Effect:
    (effect,) = summary.effects
    return effect


def names(summary: Summary) -> set[str]:
    """Name every flag of the run, its effects and its cells."""
    effects = [flag for effect in summary.effects for flag in effect.flags]
    cells = [flag for cell in summary.cells for flag in cell.flags]
    return {flag.name for flag in (*summary.flags, *effects, *cells)}


def routes(split: bool) -> tuple[RouteCount, ...]:  # noqa: FBT001 - the route's own value
    return (RouteCount(0, "decode", {"split": split}, 1),)


def test_a_clean_run_is_faster_slower_or_equivalent(make_run: Make, summarise: Summarise) -> None:
    assert only(summarise(make_run(OLD, NEW))).verdict is Verdict.FASTER
    assert only(summarise(make_run(NEW, OLD))).verdict is Verdict.SLOWER
    assert only(summarise(make_run(OLD, (50.1, 50.1, 50.0, 50.0)))).verdict is Verdict.EQUIVALENT
    assert names(summarise(make_run(OLD, NEW))) == set()


def test_an_effect_within_the_scatter_is_inconclusive(make_run: Make, summarise: Summarise) -> None:
    found = only(summarise(make_run((50, 51, 49, 50.5), (50.5, 49.5, 51.5, 50))))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.speedup is not None


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_fewer_than_four_rounds_carry_no_verdict(
    make_run: Make, summarise: Summarise, rounds: int
) -> None:
    found = only(summarise(make_run(OLD[:rounds], NEW[:rounds])))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.speedup == pytest.approx(1.5, abs=0.01)
    assert (found.interval is None) == (rounds == 1)


def test_a_disturbed_cell_may_speak_only_by_the_range_of_all_ratios(
    make_run: Make, summarise: Summarise
) -> None:
    """Modes 15 % apart: half again as fast in the worst case still is faster, eight per cent is not."""
    modes = (100, 85, 101, 86)
    far, near = (
        only(summarise(make_run(modes, [f * 85 for f in (k, 1, k, 1)]))) for k in (1.0, 1.0)
    )
    assert far.verdict is near.verdict is Verdict.INCONCLUSIVE
    steady = only(summarise(make_run(modes, (150, 151, 149, 150))))
    assert steady.verdict is Verdict.FASTER
    assert steady.interval is not None
    assert steady.interval.method == "range of observed ratios"
    close = only(summarise(make_run(modes, (100.5, 100.6, 100.4, 100.5))))
    assert close.verdict is Verdict.INCONCLUSIVE


def test_one_invalid_trial_makes_the_condition_invalid(
    make_run: Make, summarise: Summarise, make_trial: Callable[..., TrialRecord]
) -> None:
    bad = make_trial("fast", 5, 1, 75.0, status=Status.INVALID, reason="code-mismatch: rank 1")
    found = summarise([*make_run(OLD, NEW), bad])
    assert only(found).verdict is Verdict.INVALID
    assert only(found).speedup is None
    (flag,) = only(found).flags
    assert (flag.name, flag.figures) == ("invalid-trials", "1 code-mismatch")


def test_whole_blocks_only_enter_an_effect(make_run: Make, summarise: Summarise) -> None:
    """A void trial takes its whole block out of the effect; the other arm's rate stays in its cell."""
    records = make_run((*OLD, 50.0), (*NEW, 75.0))
    void = [
        one if (one.arm, one.round) != ("fast", 2) else _with(one, status=Status.VOID)
        for one in records
    ]
    found = summarise(void)
    assert only(found).rounds == (4, 4)
    assert [cell.n for cell in found.cells] == [5, 4]
    assert found.dropped == {"void": 1}
    assert "incomplete" in names(found)


def test_a_third_arm_without_a_trial_breaks_the_block_for_all(
    make_run: Make, summarise: Summarise, make_trial: Callable[..., TrialRecord]
) -> None:
    third = [make_trial("other", number, 3, 60.0) for number in (1, 2, 3)]
    found = summarise([*make_run(OLD, NEW), *third], arms=("stock", "fast", "other"))
    assert {effect.rounds for effect in found.effects} == {(3, 3)}


def test_a_second_record_of_one_trial_is_counted_as_a_duplicate(
    make_run: Make, summarise: Summarise, make_trial: Callable[..., TrialRecord]
) -> None:
    found = summarise([*make_run(OLD, NEW), make_trial("fast", 1, 2, 9999.0)], superseded=3)
    assert found.dropped == {"duplicate": 1, "superseded": 3}
    assert only(found).speedup == pytest.approx(1.5, abs=0.01)


def _with(record: TrialRecord, **change: object) -> TrialRecord:
    values = {name: getattr(record, name) for name in TrialRecord.__dataclass_fields__}
    return TrialRecord(**{**values, **change})


def _mismatched(entry: RankIdentity) -> RankIdentity:
    values = {name: getattr(entry, name) for name in RankIdentity.__dataclass_fields__}
    return RankIdentity(**{**values, "match": False})


@pytest.mark.parametrize("fault", ["rank missing", "after missing", "no match", "no rank count"])
def test_identity_is_proved_by_every_rank_before_and_after(
    make_run: Make, summarise: Summarise, fault: str
) -> None:
    records = make_run(OLD, NEW)
    last = records[-1]
    entries = last.identity
    changes: dict[str, dict[str, object]] = {
        "rank missing": {"identity": entries[:2]},
        "after missing": {"identity": tuple(one for one in entries if one.when == "before")},
        "no match": {"identity": (*entries[:-1], _mismatched(entries[-1]))},
        "no rank count": {"environment": {"python": "3"}},
    }
    found = summarise([*records[:-1], _with(last, **changes[fault])])
    assert found.identity == "not proved"
    assert only(found).verdict is Verdict.INVALID
    assert only(found).speedup is None
    assert summarise(records).identity == "proved"


def test_b2_equal_routes_in_all_arms_get_no_speed_up(make_run: Make, summarise: Summarise) -> None:
    found = summarise(make_run(OLD, NEW, routes=routes(split=True)))
    assert [flag.name for flag in found.flags] == ["routes-equal"]
    assert (only(found).speedup, only(found).interval) == (None, None)
    assert only(found).verdict is Verdict.INCONCLUSIVE


def test_b2_routes_that_were_not_asked_for_or_are_of_the_prefill_are_no_evidence(
    make_run: Make, summarise: Summarise
) -> None:
    assert names(summarise(make_run(OLD, NEW, routes=()))) == set()
    prefill = (RouteCount(0, "prefill", {"split": False}, 1),)
    assert names(summarise(make_run(OLD, NEW, routes=prefill))) == set()


def test_b2_equal_routes_at_one_depth_silence_that_depth_only(
    make_run: Make, summarise: Summarise
) -> None:
    shallow = make_run(OLD, NEW, routes=routes(split=False))
    found = summarise([*shallow, *make_run(OLD, NEW, depth=8192)])
    assert [effect.speedup is None for effect in found.effects] == [True, False]
    assert [flag.name for flag in found.effects[0].flags] == ["routes-equal"]
    assert found.flags == ()


def test_b2_another_candidates_new_route_does_not_excuse_this_one(
    make_run: Make, summarise: Summarise, make_trial: Callable[..., TrialRecord]
) -> None:
    third = [make_trial("other", n, 3, 60.0, routes=routes(split=False)) for n in (1, 2, 3, 4)]
    found = summarise([*make_run(OLD, NEW), *third], arms=("stock", "fast", "other"))
    assert [effect.speedup is None for effect in found.effects] == [False, True]


def test_e5_equal_arms_have_equal_routes_and_are_equivalent(
    make_run: Make, summarise: Summarise, make_trial: Callable[..., TrialRecord]
) -> None:
    """A/A: nothing is declared, so equal routes are no fault."""
    same = make_trial("stock", 1, 1, 1.0).identity
    records = make_run(OLD, (50.1, 50.1, 50.0, 50.0), identity=same, routes=routes(split=False))
    found = summarise(records, declared=())
    assert found.flags == ()
    assert only(found).verdict is Verdict.EQUIVALENT


def test_what_differs_without_being_declared_forbids_the_comparison(
    make_run: Make, summarise: Summarise
) -> None:
    records = [
        _with(one, environment={**one.environment, "env.X": one.arm}) for one in make_run(OLD, NEW)
    ]
    found = summarise(records)
    assert [flag.name for flag in found.flags] == ["undeclared-difference"]
    assert only(found).speedup is None
    env = Difference("env", {"stock": "X=stock", "fast": "X=fast"})
    file = Difference("file", {"stock": "a", "fast": "b"})
    assert only(summarise(records, declared=(file, env))).verdict is Verdict.FASTER


def test_a_variable_that_only_one_arm_has_is_a_difference(
    make_run: Make, summarise: Summarise
) -> None:
    records = [
        _with(one, environment={**one.environment, "env.X": "1"}) if one.arm == "fast" else one
        for one in make_run(OLD, NEW)
    ]
    found = summarise(records)
    assert found.observed_difference[0] == Difference("env.X", {"stock": "-", "fast": "1"})


def test_a_declared_file_that_never_arrived_forbids_the_comparison(
    make_run: Make, summarise: Summarise, make_trial: Callable[..., TrialRecord]
) -> None:
    same = make_trial("stock", 1, 1, 1.0).identity
    found = summarise(make_run(OLD, NEW, identity=same))
    assert [flag.name for flag in found.flags] == ["declared-not-observed"]
    assert only(found).speedup is None


def test_kept_caches_of_each_arm_are_compared_by_their_policy_alone(
    make_run: Make, summarise: Summarise
) -> None:
    def cache(one: TrialRecord, policy: str) -> dict[str, str]:
        grown = {"before": f"{one.arm}-{one.order}", "after": f"{one.arm}-{one.order + 1}"}
        return {"policy": policy, "key": f"key-of-{one.arm}", **grown}

    records = make_run(OLD, NEW)
    kept = [_with(one, caches=cache(one, "warm-per-arm")) for one in records]
    assert summarise(kept).flags == ()
    mixed = [
        _with(one, caches=cache(one, "warm-per-arm" if one.round > 2 else "cold"))
        for one in records
    ]
    assert [flag.name for flag in summarise(mixed).flags] == ["environment-changed"]
    by_arm = [
        _with(one, caches=cache(one, "cold" if one.arm == "stock" else "warm-per-arm"))
        for one in records
    ]
    assert [flag.name for flag in summarise(by_arm).flags] == ["undeclared-difference"]


def test_a_fact_that_changes_or_comes_and_goes_within_an_arm_is_told(
    make_run: Make, summarise: Summarise
) -> None:
    records = make_run(OLD, NEW)
    for change in ({"python": "4"}, {"python": "3", "env.LATE": "1"}):
        environment = {"engine.tensor_parallel": "2", **change}
        changed = [_with(one, environment=environment) if one.round > 2 else one for one in records]
        assert [flag.name for flag in summarise(changed).flags] == ["environment-changed"]


def test_e7_outputs_that_differ_between_arms_only_are_told_not_judged(
    make_run: Make, summarise: Summarise
) -> None:
    records = [_with(one, outputs=Outputs(one.arm)) for one in make_run(OLD, NEW)]
    found = summarise(records)
    assert [flag.name for flag in only(found).flags] == ["outputs-differ"]
    assert only(found).verdict is Verdict.FASTER
    restless = [_with(one, outputs=Outputs(one.trial)) for one in records]
    assert names(summarise(restless)) == set()


def test_e1_an_arm_that_always_ran_last_gets_no_verdict(
    make_run: Make, summarise: Summarise
) -> None:
    found = only(summarise(make_run(OLD, NEW, orders="A")))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert [flag.name for flag in found.flags] == ["one-order-only"]
    assert found.speedup is not None


def test_e3_an_odd_number_of_rounds_is_told_with_the_order_effect(
    make_run: Make, summarise: Summarise
) -> None:
    found = only(summarise(make_run((*OLD, 50.0), (*NEW, 75.0), orders="ABBAA")))
    (flag,) = found.flags
    assert flag.name == "order-unbalanced"
    assert "per slot" in flag.figures


def test_drift_is_estimated_per_slot(make_run: Make, summarise: Summarise) -> None:
    """One per cent faster with each later slot, and a candidate that is no faster at all."""
    early, late = 50.0, 50.5
    found = only(
        summarise(make_run((early, late, late, early), (late, early, early, late), orders="ABBA"))
    )
    assert found.slot_effect_pct == pytest.approx(1.0, abs=1e-9)
    assert found.verdict is Verdict.INCONCLUSIVE


def stamped(records: list[TrialRecord], prefill_s: float, jitter_s: float) -> list[TrialRecord]:
    """Give every trial exact time stamps and a long prefill that differs between its two runs."""
    found = []
    for place, one in enumerate(records):
        difference_s = one.pairs[0].t_long_s - one.pairs[0].t_short_s
        off_s = jitter_s * (-1) ** (place // 2)
        pair = Pair(prefill_s, prefill_s + difference_s + off_s, "short")
        found.append(_with(one, pairs=(pair,), token_s_per_token=(difference_s / 56,)))
    return found


def test_c13_above_leverage_three_the_verdict_rests_on_time_stamps(
    make_run: Make, summarise: Summarise
) -> None:
    found = only(summarise(stamped(make_run(OLD, NEW), prefill_s=5.0, jitter_s=0.05)))
    assert found.basis == "timestamps"
    assert found.verdict is Verdict.FASTER
    assert found.basis_speedup == pytest.approx(1.5, abs=0.01)
    assert found.interval is not None
    assert found.interval.method == "paired t on log ratios"
    assert found.interval.high - found.interval.low < 0.05
    assert "verdict-by-timestamps" in {flag.name for flag in found.flags}


def test_c13_low_leverage_or_one_trial_without_stamps_keeps_the_differential(
    make_run: Make, summarise: Summarise
) -> None:
    low = stamped(make_run(OLD, NEW), prefill_s=0.5, jitter_s=0.0)
    high = stamped(make_run(OLD, NEW), prefill_s=5.0, jitter_s=0.0)
    missing = [*high[:-1], _with(high[-1], token_s_per_token=())]
    assert [only(summarise(one)).basis for one in (low, high, missing)] == [
        "differential",
        "timestamps",
        "differential",
    ]


def test_scatter_that_pairs_explain_is_noise_not_modes(
    make_run: Make, summarise: Summarise
) -> None:
    """The pairs of one trial scatter as much as the trials do."""
    records = [
        _with(one, pairs=tuple(Pair(1.0, 2.0 + e, "short") for e in offsets))
        for one, offsets in zip(
            make_run(OLD, NEW),
            [(0.3, -0.1), (0, 0.1)] * 2 + [(-0.2, 0.3), (0.0, -0.2)] * 2,
            strict=True,
        )
    ]
    found = names(summarise(records))
    assert "noise-limited" in found
    assert not found & {"suspect", "bimodal?", "bimodal"}


def test_a_trial_without_pairs_is_dropped_with_its_reason(
    make_run: Make, summarise: Summarise, make_trial: Callable[..., TrialRecord]
) -> None:
    found = summarise([*make_run(OLD, NEW), make_trial("fast", 5, 1, 1.0, pairs=())])
    assert found.dropped == {"no pairs": 1}


def test_e8_milliseconds_and_slope_stand_beside_every_ratio(
    make_run: Make, summarise: Summarise
) -> None:
    """The arm that keeps less of its rate has the flatter slope: both must be seen."""
    records = [*make_run((50,) * 4, (100,) * 4), *make_run((20,) * 4, (35,) * 4, depth=8192)]
    stock, fast = summarise(records).depth
    assert fast.retention_pct < stock.retention_pct
    assert fast.slope_ms_per_1000 < stock.slope_ms_per_1000


def test_slopes_of_four_rounds_carry_a_t_interval(make_run: Make, summarise: Summarise) -> None:
    records = [*make_run(OLD, NEW), *make_run([r / 2 for r in OLD], NEW, depth=8192)]
    stock, _ = summarise(records).depth
    assert stock.slope_interval is not None
    assert stock.retention_interval_pct is not None
    assert stock.slope_interval.low < stock.slope_ms_per_1000 < stock.slope_interval.high
    assert stock.retention_interval_pct.level == 0.95


def test_one_depth_has_no_trend(make_run: Make, summarise: Summarise) -> None:
    assert summarise(make_run(OLD, NEW)).depth == ()


@pytest.mark.parametrize("name", sorted(DISTURBED))
def test_a_disturbed_cell_is_never_called_equivalent(name: str) -> None:
    close = Interval(0.995, 1.005, 0.95, "any")
    assert verdict(close, set(), 4) is Verdict.EQUIVALENT
    assert verdict(close, {name}, 4) is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("name", sorted(FORBIDDING))
def test_what_forbids_a_comparison_forbids_every_verdict(name: str) -> None:
    assert verdict(Interval(1.4, 1.6, 0.95, "any"), {name}, 8) is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("name", sorted(INVALIDATING))
def test_what_invalidates_outranks_what_forbids(name: str) -> None:
    assert verdict(None, {name, "drowned"}, 8) is Verdict.INVALID


def test_an_interval_that_touches_one_or_leaves_the_margin_says_nothing() -> None:
    assert verdict(Interval(1.0, 1.3, 0.95, "any"), set(), 8) is Verdict.INCONCLUSIVE
    assert verdict(Interval(0.98, 1.005, 0.95, "any"), set(), 8) is Verdict.INCONCLUSIVE
    assert verdict(None, set(), 8) is Verdict.INCONCLUSIVE


def test_the_scatter_inside_a_sandbox_is_told_from_that_between_them(
    make_trial: Callable[..., TrialRecord], summarise: Callable[..., Summary]
) -> None:
    """Three sandboxes with three pairs each; the figures are those of a worked example."""
    groups = ((1.20, 1.22, 1.21), (1.30, 1.33, 1.31), (1.19, 1.21, 1.20))
    records = [
        make_trial(arm, number, slot, 1.0, pairs=tuple(Pair(0.5, 0.5 + d, "short") for d in group))
        for number, group in enumerate(groups, start=1)
        for slot, arm in enumerate(("stock", "fast"), start=1)
    ]
    scatter = summarise(records).cells[0].scatter
    assert scatter is not None
    assert scatter.f == pytest.approx(81.769, abs=1e-3)
    assert scatter.degrees == (2, 6)
    assert scatter.p < 0.001
    assert scatter.between_pct == pytest.approx(100 * 0.062361 / 1.241111, rel=1e-4)
    assert scatter.within_pct == pytest.approx(100 * 0.012019 / 1.241111, rel=1e-4)

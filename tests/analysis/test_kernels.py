"""Evidence from profiles and from single trials' flags, as it reaches the summary."""

from collections.abc import Callable

import pytest

from abtest.model.result import Difference, Summary
from abtest.model.trial import Kernel, RouteCount, TrialRecord

FILES = Difference("file", {"stock": "a", "fast": "b"})
Make = Callable[..., TrialRecord]
Summarise = Callable[..., Summary]


def _rows(ms: float, name: str = "attention") -> tuple[Kernel, ...]:
    return (Kernel(0, name, 16.0, ms),)


def _records(
    make_trial: Make, kernels: dict[tuple[str, int], float], **change: object
) -> list[TrialRecord]:
    """Four rounds of two arms at two depths: 100 tok/s at 512, 25 tok/s at 8192."""
    return [
        make_trial(
            arm, number, slot, 100.0 if depth == 512 else 25.0, depth=depth,
            kernels=_rows(kernels[arm, depth]) if (arm, depth) in kernels else (), **change,
        )
        for number in (1, 2, 3, 4)
        for depth in (512, 8192)
        for slot, arm in enumerate(("stock", "fast"), start=1)
    ]  # fmt: skip


def _named(summary: Summary, name: str) -> list[tuple[str, str]]:
    flags = [*summary.flags, *(one for effect in summary.effects for one in effect.flags)]
    return [(one.where, one.figures) for one in flags if one.name == name]


FULL = {("stock", 512): 9.5, ("stock", 8192): 39.0, ("fast", 512): 9.5, ("fast", 8192): 39.0}


def test_kernels_that_account_for_the_step_raise_nothing(
    make_trial: Make, summarise: Summarise
) -> None:
    assert _named(summarise(_records(make_trial, FULL)), "host-bound") == []


def test_a_step_that_is_mostly_not_kernels_is_host_bound(
    make_trial: Make, summarise: Summarise
) -> None:
    found = _named(summarise(_records(make_trial, {**FULL, ("fast", 512): 4.0})), "host-bound")
    assert ("512", "fast: kernels 4.00 of 10.00 ms per step") in found


def test_growth_that_the_kernels_do_not_show_is_host_bound_at_the_deeper_condition(
    make_trial: Make, summarise: Summarise
) -> None:
    kernels = {**FULL, ("stock", 8192): 22.0}
    found = _named(summarise(_records(make_trial, kernels)), "host-bound")
    assert found == [("8192", "stock, from 512: step +30.00 ms, kernels +12.50 ms")]


def test_equal_routes_with_other_kernels_are_not_equal(
    make_trial: Make, summarise: Summarise
) -> None:
    routes = (RouteCount(0, "capture", {"use_3d": True}, 3),)
    alike = _records(make_trial, FULL, routes=routes)
    assert len(_named(summarise(alike), "routes-equal")) > 0
    other = [
        record if record.arm == "stock" else make_trial(
            "fast", record.round, record.slot, 50.0, depth=record.depth, routes=routes,
            kernels=_rows(9.5, "attention_3d"),
        )
        for record in alike
    ]  # fmt: skip
    assert _named(summarise(other), "routes-equal") == []


@pytest.mark.parametrize(
    ("name", "where"), [("dummy-weights", "run"), ("jit-in-window", "512"), ("eager-decode", "512")]
)
def test_what_a_trial_found_stands_in_the_table(
    make_trial: Make, summarise: Summarise, name: str, where: str
) -> None:
    said = f"{name}: JIT of f" if name == "jit-in-window" else name
    records = _records(make_trial, {}, flags=(said,))
    found = dict(_named(summarise(records), name))
    assert where in found
    assert ("JIT of f" in found[where]) is (name == "jit-in-window")


def test_what_an_engine_makes_of_declared_arguments_is_no_undeclared_difference(
    make_trial: Make, summarise: Summarise
) -> None:
    def records(fact: str) -> list[TrialRecord]:
        base = {"engine.tensor_parallel": "2", "engine.args": "{}", fact: "CPU_ATTN"}
        other = {**base, "engine.args": '{"attention_backend": "B"}', fact: "B"}
        return [
            make_trial(arm, number, 1, 50.0, environment=base if arm == "stock" else other)
            for number in (1, 2, 3, 4)
            for arm in ("stock", "fast")
        ]

    def flagged(fact: str, what: str) -> bool:
        declared = (Difference(what, {"stock": "a", "fast": "b"}), FILES)
        summary = summarise(records(fact), declared=declared)
        return bool(_named(summary, "undeclared-difference"))

    assert not flagged("engine.rank0.backend.decoder", "args")
    assert flagged("engine.rank0.backend.decoder", "nothing")
    assert flagged("python", "args")

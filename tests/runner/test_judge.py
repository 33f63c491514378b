"""What a report proves: every planted fault is found, by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from abtest.model.sandbox import Collected, Exit
from abtest.model.trial import Pair, RankIdentity, RouteCount, Status
from abtest.runner.evidence import BadReportError, Evidence, read_report
from abtest.runner.judge import judge, why_no_report
from abtest.runner.setup import sandbox_request
from abtest.runtimes.simulated import Truth

MakeWorld = Callable[..., Any]
ROUTES = """\
routes:
  at: pkg.kernel:decode
  record: [use_splitkv, head_size]
  expect: {stock: {use_splitkv: false}, fast: {use_splitkv: true, head_size: absent}}
"""


@pytest.fixture
def case(make_world: MakeWorld) -> tuple[Any, Any, Evidence]:
    """A sound report for arm `fast`, with its set-up and its plan."""
    world = make_world(Truth(), extra=ROUTES)
    planned = next(
        trial for trial in world.plan if trial.cell.arm == "fast" and not trial.discarded
    )
    request = sandbox_request(world.setup, planned, planned.name, "/nowhere")
    evidence = read_report(world.runtime.report(request))
    routes = tuple(
        RouteCount(rank, "decode", {"use_splitkv": True, "head_size": "absent"}, 4)
        for rank in (0, 1)
    )
    return world.setup, planned, replace(evidence, routes=routes)


def said(case: tuple[Any, Any, Evidence], **change: object) -> tuple[Status, str]:
    setup, planned, evidence = case
    judgement = judge(setup.experiment, planned, setup.swaps["fast"], replace(evidence, **change))  # type: ignore[arg-type]  # the fields vary
    return judgement.status, judgement.reason or ""


def test_a_sound_report_is_ok(case: tuple[Any, Any, Evidence]) -> None:
    assert said(case) == (Status.OK, "")


def entries(case: tuple[Any, Any, Evidence], **change: object) -> tuple[RankIdentity, ...]:
    """The identity with one entry (rank 1, after) changed."""
    return tuple(
        replace(entry, **change) if (entry.rank, entry.when) == (1, "after") else entry  # type: ignore[arg-type]  # the fields vary
        for entry in case[2].identity
    )


def test_another_file_is_invalid_even_if_the_count_of_sites_is_right(
    case: tuple[Any, Any, Evidence],
) -> None:
    """A19: hashes only; A5: another copy on the path is named."""
    status, reason = said(
        case,
        identity=entries(
            case, sha256="f" * 64, path="/other/kernel.py", copies=("/site/kernel.py",)
        ),
    )
    assert status is Status.INVALID
    assert reason.startswith("identity-mismatch: rank 1, after timing: /other/kernel.py")
    assert "/site/kernel.py" in reason


def test_a1_loaded_code_that_is_not_the_file_is_invalid(case: tuple[Any, Any, Evidence]) -> None:
    status, reason = said(case, identity=entries(case, match=False))
    assert (status, reason.split(":")[0]) == (Status.INVALID, "code-mismatch")


def test_a_silent_rank_is_invalid(case: tuple[Any, Any, Evidence]) -> None:
    identity = tuple(entry for entry in case[2].identity if entry.rank == 0)
    assert said(case, identity=identity)[1].startswith("identity-missing: rank 1")


def test_a12_evidence_from_a_process_that_is_no_worker_is_refused(
    case: tuple[Any, Any, Evidence],
) -> None:
    assert said(case, worker_pids=(1, 99))[1].startswith("identity-missing")


def test_a13_no_record_from_a_worker_is_never_a_route_not_taken(
    case: tuple[Any, Any, Evidence],
) -> None:
    assert said(case, routes=case[2].routes[:1])[1].startswith("recorder-missing: rank 1")
    prefill = tuple(replace(route, phase="prefill") for route in case[2].routes)
    assert said(case, routes=prefill)[1].startswith("recorder-missing: rank 0")


@pytest.mark.parametrize(
    "values",
    [{"use_splitkv": False}, {"use_splitkv": 1}, {}, {"use_splitkv": True, "head_size": 256}],
)
def test_b1_another_route_than_expected_is_invalid(
    case: tuple[Any, Any, Evidence], values: dict[str, object]
) -> None:
    routes = (case[2].routes[0], RouteCount(1, "decode", values, 1))  # type: ignore[arg-type]  # planted
    assert said(case, routes=routes)[1].startswith("route-mismatch: rank 1")


def test_one_stray_decode_route_among_many_is_invalid(case: tuple[Any, Any, Evidence]) -> None:
    stray = RouteCount(0, "decode", {"use_splitkv": False, "head_size": "absent"}, 1)
    assert said(case, routes=(*case[2].routes, stray))[0] is Status.INVALID


@pytest.mark.parametrize("time", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_cannot_be_are_invalid(case: tuple[Any, Any, Evidence], time: float) -> None:
    pairs = (*case[2].pairs[:-1], Pair(time, 1.0, "short"))
    assert said(case, pairs=pairs)[1].startswith("bad-times")


def test_a_missing_pair_is_invalid(case: tuple[Any, Any, Evidence]) -> None:
    assert said(case, pairs=case[2].pairs[:-1])[1].startswith("pairs-missing: 2 of 3")


def test_c19_another_prompt_length_is_invalid(case: tuple[Any, Any, Evidence]) -> None:
    assert said(case, prompt=("hash", 2049))[1].startswith("wrong-prompt-length")
    assert said(case, prompt=None)[1].startswith("wrong-prompt-length")


def test_the_probes_own_error_decides(case: tuple[Any, Any, Evidence]) -> None:
    assert said(case, error=("invalid", "wrong-token-count", "43 of 64")) == (
        Status.INVALID,
        "wrong-token-count: 43 of 64",
    )
    assert said(case, error=("failed", "engine-init", "no memory"))[0] is Status.FAILED


@pytest.mark.parametrize(
    ("exit_", "words"),
    [
        (Exit(137, oom_killed=True), "out-of-memory"),
        (Exit(137, oom_killed=False), "not for memory"),
        (Exit(137), "cannot know"),
        (Exit(1), "exit code 1"),
        (None, "vanished"),
    ],
)
def test_f8_an_exit_without_a_report_is_explained_as_far_as_it_is_known(
    exit_: Exit | None, words: str
) -> None:
    judgement = why_no_report(exit_, Collected(None, "last words", None))
    assert judgement.status is Status.FAILED
    assert words in (judgement.reason or "")
    assert "last words" in (judgement.reason or "")


@pytest.mark.parametrize(
    "report",
    [
        {},
        {"error": {}},
        {"error": None, "pairs": [1]},
        {"error": None, "identity": [{}]},
        {"error": None, "phases_s": {"a": "b"}},
    ],
)
def test_a_report_of_another_form_is_refused(report: dict[str, object]) -> None:
    with pytest.raises(BadReportError):
        read_report(report)

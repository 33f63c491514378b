"""Whole trials: the probe as a real process, a fake engine with real workers, one fault at a time."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Trial = Callable[..., Any]


def test_a_clean_trial_is_complete(trial: Trial, library: Path) -> None:
    made = trial()
    report = made.answer
    assert (made.code, made.printed, report["ok"], report["error"]) == (0, "", True, None)
    target = library / "refengine/ops/paged_attention.py"
    content = target.read_bytes()
    assert [(one["rank"], one["when"]) for one in report["identity"]] == [
        (0, "before"),
        (1, "before"),
        (0, "after"),
        (1, "after"),
    ]
    for one in report["identity"]:
        assert one["match"] is True
        assert one["loaded_code"] == one["compiled_code"]
        assert one["path"] == str(target)
        assert one["sha256"] == hashlib.sha256(content).hexdigest()
        assert one["md5"] == hashlib.md5(content).hexdigest()
        assert one["pid"] == report["worker_pids"][one["rank"]]
    assert [pair["first"] for pair in report["pairs"]] == ["short", "long"]
    assert report["token_s_per_token"] == [1.0, 1.0]
    assert report["prompt"]["tokens"] == 32
    assert [len(ids) for ids in report["outputs"]["ids"]] == [64]
    assert report["warmup"]["first"] == "short"
    assert report["environment"]["engine.version"] == "fake-1"


def test_routes_are_recorded_per_rank_during_the_warm_up_only(trial: Trial) -> None:
    values = {"head_size": 64, "sliding_window": 0, "use_splitkv": False, "no_such_name": "absent"}
    # 8 + 64 tokens of the warm-up; the timed pairs add nothing
    assert trial().answer["routes"] == [
        {"rank": rank, "phase": "decode", "values": values, "count": 72} for rank in (0, 1)
    ]


def test_watchers_see_each_phase_once_and_each_pair(trial: Trial) -> None:
    made = trial()
    phases = [mark["phase"] for mark in made.marks if "pair" not in mark]
    assert phases == ["import", "init", "identity", "warmup", "measure", "teardown", "done"]
    assert [(mark["pair"], mark["of"]) for mark in made.marks if "pair" in mark] == [(1, 2), (2, 2)]
    assert set(made.answer["phases_s"]) == set(phases) - {"done"}
    stamps = [mark["t_s"] for mark in made.marks]
    assert stamps == sorted(stamps)


def test_a_batch_is_measured_as_one(trial: Trial) -> None:
    report = trial(batch=3).answer
    assert report["ok"]
    assert [len(ids) for ids in report["outputs"]["ids"]] == [64, 64, 64]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param("stops-early", "invalid wrong-token-count in warmup", id="c17"),
        pytest.param("one-token", "invalid wrong-token-count in warmup", id="c18"),
        pytest.param("prompt-grows", "invalid wrong-prompt-length in warmup", id="c19"),
        pytest.param("cached", "invalid prefix-cache-hit in warmup", id="c12"),
        pytest.param("late-hook", "failed late-hook in identity", id="b12"),
        pytest.param("asks-parent", "failed no-worker-evidence in identity", id="a13"),
        pytest.param("never-called", "failed recorder-missing in identity", id="a13-zero-records"),
        pytest.param("no-hook", "failed recorder-missing in identity", id="no-hook"),
        pytest.param("patched-in-worker", "invalid code-mismatch in identity", id="patched"),
        pytest.param("file-changed-early", "invalid file-changed in identity", id="early"),
        pytest.param("file-changed-late", "invalid file-changed in identity", id="a8-late"),
        pytest.param("rank-left-out", "failed rank-silent in identity", id="left-out"),
        pytest.param("rank-silent", "failed rank-silent in identity", id="silent"),
        pytest.param("dies", "failed engine-error in measure", id="dies"),
        pytest.param("told-secret", "failed engine-init in init", id="init"),
    ],
)
def test_a_planted_fault_has_its_name(
    trial: Trial,
    environment: dict[str, str],
    fault: str,
    expected: str,
) -> None:
    environment["TOKEN"] = "value of the token"
    made = trial(fault)
    error = made.answer["error"]
    assert made.code == 0
    assert not made.answer["ok"]
    assert f"{error['kind']} {error['name']} in {error['phase']}" == expected, error["message"]
    assert error["message"] in made.log or fault == "told-secret"


def test_a_target_that_no_worker_imports_is_named(trial: Trial) -> None:
    error = trial("never-imported", routes=None).answer["error"]
    assert (error["kind"], error["name"]) == ("invalid", "target-not-imported")
    assert "refengine/ops/paged_attention.py" in error["message"]


@pytest.mark.parametrize(("method", "error"), [("spawn", None), ("fork", "code-mismatch")])
def test_a12_a_patch_in_the_parent_counts_only_where_it_reaches_the_workers(
    trial: Trial, method: str, error: str | None
) -> None:
    args = {"fault": "patched-in-parent", "start_method": method}
    report = trial(engine={"args": args}, routes=None).answer
    assert (report["error"] or {}).get("name") == error
    if error:
        assert "decode" in report["error"]["message"]
    else:
        assert report["identity"][0]["match"] is True
        assert 7 not in report["outputs"]["ids"][0][:3]


def test_forked_workers_prove_and_record_as_spawned_ones(trial: Trial) -> None:
    report = trial(engine={"args": {"start_method": "fork"}}).answer
    assert report["ok"], report["error"]
    assert [one["count"] for one in report["routes"]] == [72, 72]


def test_c2_a_slow_first_call_of_either_length_stays_in_the_warm_up(trial: Trial) -> None:
    report = trial("slow-first").answer
    assert report["warmup"]["t_short_s"] > 0.5
    assert report["warmup"]["t_long_s"] > 0.5
    assert all(pair[key] < 0.5 for pair in report["pairs"] for key in ("t_short_s", "t_long_s"))


def test_c25_outputs_that_change_within_a_trial_are_flagged(trial: Trial) -> None:
    report = trial("leaks-state").answer
    assert report["ok"]
    assert report["flags"] == ["outputs-unstable"]


def test_an_error_keeps_what_was_gathered_before(trial: Trial) -> None:
    report = trial("file-changed-late").answer  # seen only after the pairs
    assert len(report["pairs"]) == 2
    assert len(report["identity"]) == 4
    assert report["warmup"] is not None
    assert report["outputs"]["sha256"]


def test_an_unknown_engine_argument_fails_with_the_engines_own_words(trial: Trial) -> None:
    error = trial(engine={"args": {"enforce_egaer": True}}).answer["error"]
    assert error["name"] == "engine-init"
    assert "enforce_egaer" in error["message"]


def test_an_unknown_engine_is_no_import_error_of_ours(trial: Trial) -> None:
    error = trial(engine={"kind": "nosuch"}).answer["error"]
    assert error["name"] == "engine-import"
    assert "nosuch" in error["message"]


def test_an_engine_that_cannot_be_imported_says_why(trial: Trial, library: Path) -> None:
    (library / "refengine" / "__init__.py").write_text("import no_such_library\n")
    error = trial().answer["error"]
    assert (error["name"], error["phase"]) == ("engine-import", "import")
    assert "no_such_library" in error["message"]


def test_a_bad_close_is_told_and_spoils_nothing(trial: Trial) -> None:
    report = trial("bad-close").answer
    assert report["ok"]
    assert report["flags"] == ["unclean-close"]


def test_a_route_function_that_is_not_there_is_the_recorders_fault(trial: Trial) -> None:
    routes = {"at": "refengine.ops.paged_attention:dekode", "record": ["head_size"]}
    error = trial(routes=routes).answer["error"]
    assert error["name"] == "recorder-missing"
    assert "dekode" in error["message"]


def test_a_route_may_lie_in_another_module_than_the_target(trial: Trial) -> None:
    routes = {"at": "refengine.context:current", "record": ["nothing"]}
    report = trial(routes=routes).answer
    assert report["error"]["name"] == "recorder-missing"  # nobody calls it but the recorder itself
    assert "never called" in report["error"]["message"]


def test_a_hook_that_fails_to_install_is_told_by_the_worker(trial: Trial, site: Path) -> None:
    """`site` prints such a failure and goes on: the engine would run, unseen."""
    hook = site / "abtest" / "probe" / "hook.py"
    hook.write_text(hook.read_text() + "\n\ndef install(*_):\n    raise RuntimeError('planted')\n")
    error = trial().answer["error"]
    assert error["name"] == "recorder-missing"
    assert "RuntimeError: planted" in error["message"]

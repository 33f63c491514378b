"""What the probe notes for whoever watches the machine: when each generation ran, and a steady decode after all proofs."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from abtest.probe.environment import libraries, model_config

Trial = Callable[..., Any]


def test_c28_every_generation_has_a_window_on_the_machines_clock(trial: Trial) -> None:
    before_s = time.monotonic()
    windows = trial().answer["windows"]
    after_s = time.monotonic()
    assert [one["kind"] for one in windows] == ["warmup"] * 2 + ["pair"] * 4
    assert [one["tokens"] for one in windows] == [8, 64, 8, 64, 64, 8]
    for one in windows:  # the same clock in another process: that of the whole machine
        assert before_s <= one["start_s"] <= one["end_s"] <= after_s
        assert one["first_token_s"] is not None
    starts = [one["start_s"] for one in windows]
    assert starts == sorted(starts)


def test_every_step_is_kept_so_that_one_stall_and_many_slow_steps_can_be_told_apart(
    trial: Trial,
) -> None:
    made = trial()
    lines = (made.out / "steps.jsonl").read_text().splitlines()
    steps = [json.loads(line) for line in lines]
    windows = made.answer["windows"]
    assert [one["kind"] for one in steps] == [one["kind"] for one in windows]
    for one, window in zip(steps, windows, strict=True):
        assert len(one["step_ms"]) == one["tokens"] == window["tokens"]
        assert one["step_ms"][0] is None  # the fake engine's stamps are of a clock of its own
        assert all(gap_ms > 0 for gap_ms in one["step_ms"][1:])


def test_a_steady_decode_follows_all_proofs_and_enters_no_pair(trial: Trial) -> None:
    made = trial(steady_s=0.2, depth=1024)
    report = made.answer
    assert report["ok"]
    steady = [one for one in report["windows"] if one["kind"] == "steady"]
    assert steady
    assert {one["tokens"] for one in steady} == {128}  # an eighth of the depth
    assert steady[-1]["end_s"] - steady[0]["start_s"] >= 0.2
    assert len(report["pairs"]) == 2
    assert [entry["when"] for entry in report["identity"]].count("after") == 2
    phases = [mark["phase"] for mark in made.marks if "pair" not in mark]
    assert phases.index("steady") > phases.index("measure")


def test_an_engine_without_room_for_it_is_flagged_and_the_trial_stands(trial: Trial) -> None:
    made = trial(fault="no-room", steady_s=0.2, depth=1024)
    assert made.answer["ok"]
    assert made.answer["flags"] == ["no-steady-decode"]
    assert "no room for 128 tokens" in made.log
    assert len(made.answer["pairs"]) == 2


CONFIG = {"num_hidden_layers": 4, "layer_types": ["full_attention", "linear_attention"] * 2}


@pytest.mark.parametrize("body", [CONFIG, {"vocab_size": 5, "text_config": CONFIG}])
def test_a_models_configuration_is_kept_short(tmp_path: Path, body: dict[str, Any]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(body))
    said = json.loads(model_config({"model": str(tmp_path)}) or "{}")
    assert said == {
        "num_hidden_layers": 4,
        "layer_types": {"full_attention": 2, "linear_attention": 2},
    }


def test_no_configuration_is_no_fact(tmp_path: Path) -> None:
    assert model_config({}) is None
    assert model_config({"model": "some/name"}) is None
    (tmp_path / "config.json").write_text("[]")
    assert model_config({"model": str(tmp_path)}) is None
    (tmp_path / "config.json").write_text("{")
    assert model_config({"model": str(tmp_path)}) is None


def test_versions_of_kernel_libraries_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "torch-2.11.0.dist-info",
        "nvidia_nccl_cu12-2.28.dist-info",
        "torchlike-1.dist-info",
    ):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("abtest.probe.environment.sys", SimpleNamespace(path=[str(tmp_path)]))
    assert libraries() == "nvidia_nccl_cu12 2.28, torch 2.11.0"

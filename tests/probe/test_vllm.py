"""The vLLM adapter against a stand-in package with real worker processes, one planted fault at a time."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from abtest.probe.engines import vllm_config

TARGET = "vllm/ops/attention.py"
Trial = Callable[..., SimpleNamespace]
HERE = Path(__file__).parent


MODES = [
    pytest.param(1, {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}, id="in-process"),
    pytest.param(1, {"VLLM_WORKER_MULTIPROC_METHOD": "spawn"}, id="spawn"),
    pytest.param(2, {"VLLM_WORKER_MULTIPROC_METHOD": "spawn"}, id="tp2-spawn"),
    pytest.param(2, {"VLLM_WORKER_MULTIPROC_METHOD": "fork"}, id="tp2-fork"),
]


@pytest.mark.parametrize(("ranks", "env"), MODES)
def test_a_clean_trial_is_proved_in_every_worker(
    vllm_trial: Trial, library: Path, ranks: int, env: dict[str, str]
) -> None:
    made = vllm_trial(tp=ranks, env=env)
    report = made.answer
    assert (report["error"], report["ok"]) == (None, True)
    said = [(one["rank"], one["when"], one["match"], one["path"]) for one in report["identity"]]
    path = str(library / TARGET)
    wanted = [(rank, when) for when in ("before", "after") for rank in range(ranks)]
    assert said == [(rank, when, True, path) for rank, when in wanted]
    assert len(set(report["worker_pids"])) == ranks
    values = {"self.heads": 4, "splits": 2, "none": "absent", "no_such_name": "absent"}
    assert report["routes"] == [
        {"rank": rank, "phase": phase, "values": values, "count": count}
        for rank in range(ranks)
        for phase, count in (("prefill", 2), ("decode", 70))
    ]
    assert report["flags"] == ["dummy-weights"]
    assert [len(ids) for ids in report["outputs"]["ids"]] == [64]
    assert len(report["token_s_per_token"]) == 2
    assert report["environment"]["engine.rank0.backend.decoder"] == "CPU_ATTN"
    assert report["environment"]["engine.profiler"].startswith("absent: rank 0: no PyTorch")
    assert report["kernels"] == []
    told = {(one["component"], one["fact"]): one["value"] for one in report["log"]}
    assert told["engine", "max_model_len"] == "96"  # depth 32 and 64 tokens
    assert told["engine", "max_num_batched_tokens"] == "96"
    for fact in ("max_model_len", "max_num_batched_tokens"):  # they follow from the depth
        assert not any(fact in name for name in report["environment"])
    assert told["decoder", "backend"] == "CPU_ATTN"
    assert told["engine", "kv_cache_tokens"] == "1,024"
    assert told["engine", "jit_monitor"] == "unknown"
    assert [mark["phase"] for mark in made.marks if "pair" not in mark][-3:] == [
        "profile", "teardown", "done",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "ranks", "expected"),
    [
        pytest.param("init-fails", 1, "failed engine-init in init", id="init"),
        pytest.param("worker-killed", 1, "failed engine-error in measure", id="worker-137"),
        pytest.param("one-token", 1, "invalid wrong-token-count in warmup", id="c18"),
        pytest.param("prompt-grows", 1, "invalid wrong-prompt-length in warmup", id="c19"),
        pytest.param("cached", 1, "invalid prefix-cache-hit in warmup", id="c12"),
        pytest.param("cache-untold", 1, "invalid prefix-cache-hit in warmup", id="c12-untold"),
        pytest.param("no-hook", 2, "failed recorder-missing in identity", id="no-hook"),
        pytest.param("rank-silent", 2, "failed rank-silent in identity", id="rank-silent"),
        pytest.param("never-called", 1, "failed recorder-missing in identity", id="a13"),
        pytest.param("falls-back", 2, "invalid request-refused in identity", id="b4"),
        pytest.param("swapped-after-import", 1, "invalid file-changed in identity", id="swapped"),
    ],
)
def test_a_fault_ends_the_trial_with_its_name(
    vllm_trial: Trial, fault: str, ranks: int, expected: str
) -> None:
    made = vllm_trial(fault, tp=ranks, args={"attention_backend": "CPU_ATTN"})
    error = made.answer["error"]
    assert f"{error['kind']} {error['name']} in {error['phase']}" == expected, made.log[-900:]


def test_memory_that_runs_out_in_the_start_leaves_no_answer(vllm_trial: Trial) -> None:
    made = vllm_trial("killed-in-init")
    assert (made.code, made.answer) == (-9, None)
    assert made.marks[-1]["phase"] == "init"


def test_a5_two_copies_on_the_path_are_named_and_a_rank_on_the_other_one_shows(
    vllm_trial: Trial, tmp_path: Path, copy_vllm: Callable[[Path], None], library: Path
) -> None:
    other = tmp_path / "other"
    copy_vllm(other)
    with (other / TARGET).open("a") as file:
        file.write("# another version\n")
    report = vllm_trial("other-file", tp=2, env={"OTHER_COPY": str(other)}).answer
    by_rank = {one["rank"]: one for one in report["identity"] if one["when"] == "before"}
    assert by_rank[0]["path"] == str(library / TARGET)
    assert by_rank[1]["path"] == str(other / TARGET)
    assert by_rank[0]["sha256"] != by_rank[1]["sha256"]
    assert by_rank[1]["copies"] == [str(library / TARGET)]


def test_a_hook_that_does_not_load_is_a_failed_trial(vllm_trial: Trial, site: Path) -> None:
    hook = site / "abtest" / "probe" / "hook.py"
    hook.write_text(hook.read_text().replace("def install(", "def install_renamed("))
    error = vllm_trial().answer["error"]
    assert error["name"] == "recorder-missing"
    assert "AttributeError" in error["message"]


def test_what_the_engines_own_process_said_first_is_part_of_the_reason(vllm_trial: Trial) -> None:
    message = vllm_trial("init-fails").answer["error"]["message"]
    assert message == (
        "RuntimeError: Engine core initialization failed. See root cause above. First exception in the log: "
        "torch.AcceleratorError: CUDA error: an illegal memory access"
    )


def test_c12_a_prefix_cache_that_is_wanted_must_answer_alike(vllm_trial: Trial) -> None:
    report = vllm_trial(args={"enable_prefix_caching": True}).answer
    assert report["error"] is None
    assert len(report["pairs"]) == 2


def test_c1_a_compilation_inside_the_window_is_flagged(vllm_trial: Trial) -> None:
    report = vllm_trial("jit").answer
    assert any(name.startswith("jit-in-window: Triton JIT") for name in report["flags"])
    lines = [one for one in report["log"] if one["fact"] == "jit"]
    assert any(one["in_window"] and "Triton JIT compilation" in one["line"] for one in lines)


@pytest.fixture
def device(library: Path) -> None:
    """A stand-in for PyTorch beside the engine: there is a device, and decode steps replay graphs."""
    shutil.copy(HERE / "fake_vllm" / "torch.py", library / "torch.py")


@pytest.mark.usefixtures("device")
def test_on_a_device_the_kernels_of_decode_steps_and_the_decision_at_capture_are_recorded(
    vllm_trial: Trial,
) -> None:
    report = vllm_trial("device", tp=2).answer
    assert report["error"] is None
    assert [(one["rank"], one["phase"]) for one in report["routes"]] == [
        (rank, phase) for rank in (0, 1) for phase in ("capture", "prefill")
    ]
    assert report["kernels"] == [
        {"rank": rank, "name": "attention", "calls": 1.0, "ms_per_step": 0.01} for rank in (0, 1)
    ]
    assert report["environment"]["engine.profiler"] == "on"
    assert report["flags"] == ["dummy-weights"]


@pytest.mark.usefixtures("device")
def test_a_profile_without_a_whole_decode_step_is_flagged(vllm_trial: Trial) -> None:
    assert "kernels-incomplete" in vllm_trial("device", tokens=[1, 2]).answer["flags"]


def test_b7_speculation_is_flagged_and_steps_of_several_tokens_leave_no_time_stamps(
    vllm_trial: Trial,
) -> None:
    wanted = {"method": "ngram", "num_speculative_tokens": 2}
    report = vllm_trial("speculates", args={"speculative_config": wanted}).answer
    assert (report["error"], report["token_s_per_token"]) == (None, [])
    assert report["flags"] == ["dummy-weights", "speculation"]
    told = report["environment"]["engine.speculation"]
    assert told == "method=ngram, model=None, num_speculative_tokens=2"


def test_an_untested_version_is_said(vllm_trial: Trial, library: Path) -> None:
    package = library / "vllm" / "__init__.py"
    package.write_text(package.read_text().replace("0.27.1", "0.99.0"))
    made = vllm_trial()
    assert "engine-untested" in made.answer["flags"]
    assert "vLLM 0.99.0 on cpu was never tested" in made.log


@pytest.mark.parametrize(
    ("version", "platform", "tested"),
    [("0.26.0", "cuda", True), ("0.26.0", "cpu", False), ("0.27.1", "cuda", False), ("0.26.0", "rocm", False)],
)  # fmt: skip
def test_a_version_is_tested_on_a_platform(
    vllm_trial: Trial,
    library: Path,
    version: str,
    platform: str,
    tested: bool,  # noqa: FBT001 - a table's column
) -> None:
    package = library / "vllm"
    for name, old, new in (
        ("__init__", "0.27.1", version),
        ("platforms", '"cpu"', f'"{platform}"'),
    ):
        text = (package / f"{name}.py").read_text()
        assert old in text
        (package / f"{name}.py").write_text(text.replace(old, new))
    assert ("engine-untested" not in vllm_trial().answer["flags"]) is tested


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"model": ""}, "model is missing"),
        ({"load_format": "auto"}, "holds no weights"),
        ({"tensor_parallel_size": 2}, "set by the probe"),
        ({"pipeline_parallel_size": 2}, "not supported"),
    ],
)
def test_arguments_that_cannot_work_are_refused_with_their_remedy(
    vllm_trial: Trial, args: dict[str, Any], words: str
) -> None:
    error = vllm_trial(args=args).answer["error"]
    assert (error["name"], error["phase"]) == ("engine-import", "import")
    assert words in error["message"]


def test_speculation_is_told_from_the_resolved_configuration() -> None:
    draft = SimpleNamespace(method="ngram", model=None, num_speculative_tokens=3)
    facts = vllm_config.facts(SimpleNamespace(speculative_config=draft), vllm_config.OBSERVED)
    assert facts["engine.speculation"] == "method=ngram, model=None, num_speculative_tokens=3"
    assert facts["engine.graph_mode"] == "absent"
    assert json.loads(json.dumps(facts)) == facts

"""Real vLLM on CPU; minutes.

As processes where ABTEST_VLLM_PYTHON names the interpreter of an environment that holds it; in containers where
ABTEST_VLLM_IMAGE names the image that arms/vllm-cpu/image/build.sh makes.
"""

import itertools
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abtest.cli.main import main

PYTHON = os.environ.get("ABTEST_VLLM_PYTHON")
IMAGE = os.environ.get("ABTEST_VLLM_IMAGE")
needs_python = pytest.mark.skipif(PYTHON is None, reason="needs vLLM: set ABTEST_VLLM_PYTHON")
needs_image = pytest.mark.skipif(IMAGE is None, reason="needs its image: set ABTEST_VLLM_IMAGE")
EITHER = [
    pytest.param("process", marks=needs_python),
    pytest.param("docker", marks=[needs_image, pytest.mark.docker]),
]
pytestmark = pytest.mark.timeout(1200)
SHORT = (
    ("tokens: [8, 256]", "tokens: [2, 6]"),
    ("pairs: 3", "pairs: 1"),
    ("rounds: 4", "rounds: 2"),
)
ALL_DEPTHS = "depths: [1024, 8192, 16384]"
TWO_DEPTHS, ONE_DEPTH = (ALL_DEPTHS, "depths: [512, 2048]"), (ALL_DEPTHS, "depths: [512]")
MD5 = "1b3d5d0120fb79e635beabe02f40e936"
IN_PROCESS = """\
    VLLM_ENABLE_V1_MULTIPROCESSING: "0"           # engine and worker in one process: the others would spin against it
"""
DEFAULT_MODE = (IN_PROCESS, "")
TWO_HEADS = "{num_attention_heads: 2, num_key_value_heads: 2}"  # one for each of two ranks
NO_COMPILER = '    TORCH_COMPILE_DISABLE: "1"'  # ranks would compile a part of the embedding; the image cannot
TWO_THREADS = 'OMP_NUM_THREADS: "2"'
TWO_CORES = (
    TWO_THREADS,
    f'VLLM_CPU_OMP_THREADS_BIND: "{",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))}"',
)
PLACE = {
    "process": ("process.yaml", ("python: /opt/vllm-cpu/bin/python", f"python: {PYTHON}")),
    "docker": ("experiment.yaml", ("abtest-vllm-cpu:0.27.1", str(IMAGE))),
}
Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, repository: Path) -> Run:
    """Run the experiment in a runtime, shortened, with places of its text changed."""
    shutil.copytree(repository / "arms" / "vllm-cpu", tmp_path / "exp")

    def run(runtime: str, *changes: tuple[str, str], budget: str = "1h") -> int:
        name, place = PLACE[runtime]
        file = tmp_path / "exp" / name
        text = file.read_text()
        depths = () if TWO_DEPTHS in changes else (ONE_DEPTH,)
        for old, new in (*SHORT, *depths, place, *changes):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        file.write_text(text)
        where = ["--results", str(tmp_path / "results"), "--budget", budget]
        return main(["run", str(file), *where])

    return run


def trials(tmp_path: Path) -> list[dict[str, Any]]:
    lines = (tmp_path / "results" / "latest" / "ledger.jsonl").read_text().splitlines()
    return [record for line in lines if (record := json.loads(line))["kind"] == "trial"]


def decoded(trial: dict[str, Any]) -> list[dict[str, Any]]:
    return [one["values"] for one in trial["routes"] if one["phase"] == "decode"]


@pytest.mark.parametrize("runtime", EITHER)
def test_the_switched_line_is_proved_and_changes_the_route(
    run: Run, tmp_path: Path, runtime: str
) -> None:
    assert run(runtime, TWO_DEPTHS) in (0, 5)  # on a busy machine two short rounds may tell nothing
    found = trials(tmp_path)
    counted = [one for one in found if not one["discarded"]]
    places = [(one["arm"], one["depth"], one["round"]) for one in counted]
    assert sorted(places) == sorted(itertools.product(("nosplit", "stock"), (512, 2048), (1, 2)))
    assert sorted(one["arm"] for one in found if one["discarded"]) == ["nosplit", "stock"]
    files: dict[str, set[str]] = {"stock": set(), "nosplit": set()}
    for trial in found:
        assert (trial["status"], trial["flags"]) == ("ok", ["dummy-weights"])
        splits = 2 if trial["arm"] == "stock" else 0
        assert {one["kv_splits"] for one in decoded(trial)} == {splits}
        assert {one["when"] for one in trial["identity"]} == {"before", "after"}
        assert all(one["match"] for one in trial["identity"])
        files[trial["arm"]] |= {one["md5"] for one in trial["identity"]}
        assert trial["environment"]["engine.rank0.backend.decoder"] == "CPU_ATTN"
    assert files["stock"] == {MD5}
    assert len(files["nosplit"] - files["stock"]) == 1


@pytest.mark.parametrize("runtime", EITHER)
def test_b2_both_arms_on_one_thread_are_found_by_the_route(
    run: Run, tmp_path: Path, runtime: str
) -> None:
    """So it is by default on a machine with two cores: one of them is kept for the engine's front end."""
    assert run(runtime, (TWO_THREADS, 'OMP_NUM_THREADS: "1"')) == 3
    (trial,) = trials(tmp_path)
    assert trial["reason"].startswith("route-mismatch: rank 0 decoded with ")
    assert {one["kv_splits"] for one in decoded(trial)} == {0}
    assert all(one["match"] for one in trial["identity"])


@pytest.mark.parametrize("runtime", EITHER)
def test_a_worker_in_a_process_of_its_own_is_proved(
    run: Run, tmp_path: Path, runtime: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Front end, engine core and worker are three processes by default; the budget ends the run after one trial."""
    assert run(runtime, DEFAULT_MODE, TWO_CORES, budget="1s") == 5
    assert "the time budget ended this run" in capsys.readouterr().err
    (trial,) = trials(tmp_path)
    assert (trial["status"], trial["arm"]) == ("ok", "stock")
    assert "env.VLLM_ENABLE_V1_MULTIPROCESSING" not in trial["environment"]
    log = (tmp_path / "results" / "latest" / "trials" / trial["trial"] / "engine.log").read_text()
    (core,) = set(re.findall(r"\(EngineCore pid=(\d+)\)", log))
    proofs = trial["identity"]
    assert sorted(one["when"] for one in proofs) == ["after", "before"]
    assert all((one["match"], one["md5"]) == (True, MD5) for one in proofs)
    (worker,) = {one["pid"] for one in proofs}
    assert worker != int(core)
    assert {one["kv_splits"] for one in decoded(trial)} == {2}


@pytest.mark.parametrize("runtime", EITHER)
def test_two_ranks_answer_each_for_itself(run: Run, tmp_path: Path, runtime: str) -> None:
    """One of them has one thread, and cannot split; the budget ends the run after one trial."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    assert run(
        runtime,
        ("engine:\n", "engine:\n  tensor_parallel: 2\n"),
        ("  args:\n", f"  args:\n    hf_overrides: {TWO_HEADS}\n"),
        (TWO_THREADS, f'VLLM_CPU_OMP_THREADS_BIND: "{first}|{first},{second}"\n{NO_COMPILER}'),
        ("    stock: {kv_splits: 2, threads: 2}\n", ""),
        budget="1s",
    ) == 5  # fmt: skip
    (trial,) = trials(tmp_path)
    assert (trial["status"], trial["arm"]) == ("ok", "stock")
    proofs = [(one["when"], one["rank"], one["match"], one["md5"]) for one in trial["identity"]]
    assert sorted(proofs) == [
        (when, rank, True, MD5) for when in ("after", "before") for rank in (0, 1)
    ]
    assert len({one["pid"] for one in trial["identity"]}) == 2
    routes = [one for one in trial["routes"] if one["phase"] == "decode"]
    took = {(one["rank"], one["values"]["kv_splits"], one["values"]["threads"]) for one in routes}
    assert took == {(0, 0, 1), (1, 2, 2)}


@pytest.mark.parametrize("runtime", EITHER)
def test_the_prompts_of_a_batch_always_take_the_same_steps(
    run: Run, tmp_path: Path, runtime: str
) -> None:
    """An engine in a process of its own would begin with those that have arrived; half of them fill a step here."""
    expected = "  expect:\n    stock: {kv_splits: 2, threads: 2}\n    nosplit: {kv_splits: 0, threads: 2}\n"
    assert run(
        runtime,
        DEFAULT_MODE,
        TWO_CORES,
        (expected, ""),  # which route a batch takes is not the question
        ("depths: [512]", "depths: [512]\nbatches: [8]"),
        ("max_num_batched_tokens: 8192", "max_num_batched_tokens: 2048"),
        ("pairs: 1", "pairs: 4"),
        ("tokens: [2, 6]", "tokens: [4, 8]"),
        budget="1s",
    ) == 5  # fmt: skip
    (trial,) = trials(tmp_path)
    assert (trial["status"], trial["flags"]) == ("ok", ["dummy-weights"])
    steps = tmp_path / "results" / "latest" / "trials" / trial["trial"] / "steps.jsonl"
    lengths = {
        (one["tokens"], len(one["step_ms"]))
        for one in map(json.loads, steps.read_text().splitlines())
    }
    assert lengths == {
        (4, 6),
        (8, 10),
    }  # two steps more than tokens: the third one ends the prefill

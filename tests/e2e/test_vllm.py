"""Whole runs of `engine.kind: vllm` against a stand-in package: the traps of a real one, found by the tool."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from abtest.cli.main import main

TEXT = """\
schema: 1
name: small-vllm
target: vllm/ops/attention.py
baseline: stock
arms:
  stock: {}
  nosplit:
    replace: [{old: "2 if threads > 1 else 0", new: "0"}]
engine:
  kind: vllm
  tensor_parallel: 2
  pythonpath: [lib]
  args: {model: model, load_format: dummy}
depths: [40, 50]
tokens: [2, 6]
pairs: 1
rounds: 2
routes:
  at: vllm.ops.attention:Builder.build
  record: ["splits=metadata@i32[1]"]
  expect: {stock: {splits: 2}, nosplit: {splits: 0}}
container: {env: {OMP_NUM_THREADS: "2"}}
limits: {start_s: 15, trial_s: 20, retries: 0}
"""
Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, repository: Path) -> Run:
    """Run the experiment, with places of its text changed."""
    library = tmp_path / "exp" / "lib"
    source = repository / "tests" / "probe" / "fake_vllm" / "vllm"
    shutil.copytree(source, library / "vllm", ignore=shutil.ignore_patterns("__pycache__"))
    (library / "model").mkdir()
    (library / "model" / "config.json").write_text("{}")

    def run(*changes: tuple[str, str]) -> int:
        text = TEXT
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (tmp_path / "exp" / "experiment.yaml").write_text(text)
        where = ["--results", str(tmp_path / "results"), "--runtime", "process"]
        return main(["run", str(tmp_path / "exp"), *where])

    return run


def reason(tmp_path: Path) -> str:
    lines = (tmp_path / "results" / "latest" / "ledger.jsonl").read_text().splitlines()
    return str(json.loads(lines[-1])["reason"])


def test_two_ranks_are_proved_and_their_routes_stand_in_the_ledger(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() in (0, 5)
    said = capsys.readouterr().out
    assert "identity: proved" in said
    assert "dummy-weights" in said
    assert "environment-changed" not in said
    lines = (tmp_path / "results" / "latest" / "ledger.jsonl").read_text().splitlines()
    trial = json.loads(lines[-1])
    assert {route["rank"] for route in trial["routes"]} == {0, 1}
    assert {one["rank"] for one in trial["identity"]} == {0, 1}
    lines = [one["line"] for one in trial["engine_log"]]
    assert any(line.startswith("INFO [selector.py:1]") for line in lines)
    assert trial["environment"]["engine.rank1.backend.decoder"] == "CPU_ATTN"


ONE_THREAD = ('OMP_NUM_THREADS: "2"', 'OMP_NUM_THREADS: "1"')
NO_EXPECTATION = ("  expect: {stock: {splits: 2}, nosplit: {splits: 0}}\n", "")


def test_arms_that_never_split_on_one_thread_are_invalid_where_a_route_is_expected(
    run: Run, tmp_path: Path
) -> None:
    assert run(ONE_THREAD) == 3
    assert "route-mismatch: rank 0 decoded with splits=0" in reason(tmp_path)


def test_b2_arms_that_never_split_on_one_thread_are_routes_equal_where_none_is_expected(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(ONE_THREAD, NO_EXPECTATION) == 5
    assert "routes-equal" in capsys.readouterr().out


DEVICE = ("load_format: dummy}", "load_format: dummy, fault: device}")


@pytest.fixture
def device(tmp_path: Path, repository: Path, run: Run) -> None:
    """Decode steps replay graphs; a stand-in for PyTorch has a profiler."""
    torch = repository / "tests" / "probe" / "fake_vllm" / "torch.py"
    shutil.copy(torch, tmp_path / "exp" / "lib" / "torch.py")


@pytest.mark.usefixtures("device")
def test_where_decode_steps_replay_graphs_the_capture_is_judged_beside_the_kernels(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(DEVICE) in (0, 5)
    lines = (tmp_path / "results" / "latest" / "ledger.jsonl").read_text().splitlines()
    trial = json.loads(lines[-1])
    assert {row["name"] for row in trial["kernels"]} == {"attention"}
    assert not any(route["phase"] == "decode" for route in trial["routes"])
    said = capsys.readouterr().out
    assert "host-bound" in said  # ten microseconds of kernels do not account for such a step
    assert "routes-equal" not in said


@pytest.mark.usefixtures("device")
def test_a_capture_that_decided_otherwise_is_invalid(run: Run, tmp_path: Path) -> None:
    assert run(DEVICE, ONE_THREAD) == 3
    assert "route-mismatch: rank 0 decoded with splits=0" in reason(tmp_path)


def test_a_rank_on_another_copy_of_the_package_stops_the_run(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(tmp_path / "exp" / "lib" / "vllm", other / "vllm")
    with (other / "vllm" / "ops" / "attention.py").open("a") as file:
        file.write("# another version\n")
    fault = ("load_format: dummy}", "load_format: dummy, fault: other-file}")
    where = ('OMP_NUM_THREADS: "2"', f'OMP_NUM_THREADS: "2", OTHER_COPY: {other}')
    assert run(fault, where) == 3
    assert "identity-mismatch: rank 1, before timing" in reason(tmp_path)
    assert str(other) in reason(tmp_path)


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("hangs-in-init", 4, "start-timeout: over 2 s before the warm-up, in phase init"),
        ("hangs", 4, "trial-timeout: over 6 s in all, in phase"),
        ("killed-in-init", 4, "killed: by SIGKILL, for memory or by somebody"),
        ("init-fails", 4, "engine-init: RuntimeError: Engine core initialization failed"),
        ("falls-back", 3, "request-refused: rank 0: backend.decoder is TORCH_SDPA"),
    ],
)
def test_f11_a_fault_ends_the_run_with_its_exit_code(
    run: Run, tmp_path: Path, fault: str, code: int, words: str
) -> None:
    made = f"load_format: dummy, attention_backend: CPU_ATTN, fault: {fault}}}"
    limits = ("start_s: 15, trial_s: 20", "start_s: 2, trial_s: 6")
    change = [limits] if fault.startswith("hangs") else []
    assert run(("load_format: dummy}", made), *change) == code
    assert words in reason(tmp_path)

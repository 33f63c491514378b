"""Small real experiments: a copy of the reference engine, in which faults can be planted."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from abtest.cli.main import main
from abtest.runner import campaign
from abtest.runner import trial as trial_of

TEXT = """\
schema: 1
name: small
target: refengine/ops/paged_attention.py
baseline: stock
arms:
  stock: {}
  splitkv: {file: splitkv.py}
engine:
  kind: reference
  tensor_parallel: 2
  pythonpath: [lib]
depths: [40]
tokens: [2, 6]
pairs: 2
rounds: 2
routes:
  at: refengine.ops.paged_attention:decode
  record: [head_size, use_splitkv, no_such_name]
  expect: {stock: {use_splitkv: false}, splitkv: {use_splitkv: true, no_such_name: absent}}
limits: {start_s: 30, trial_s: 60, retries: 0}
telemetry: {void: []}
"""


@dataclass
class Lab:
    """One experiment folder, one results folder, one runtime.

    Args:
        folder: holds `experiment.yaml`, the arms and `lib/refengine`.
    """

    folder: Path
    results: Path
    runtime: str

    @property
    def engine(self) -> Path:
        return self.folder / "lib" / "refengine"

    def plant(self, name: str, old: str, new: str) -> None:
        """Change one place of the engine (or of `experiment.yaml`); the place must be there exactly once."""
        path = self.folder / name if name.endswith(".yaml") else self.engine / name
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {name}"
        path.write_text(text.replace(old, new))

    def run(self, *more: str) -> int:
        """Run the experiment in this lab's runtime; returns the exit code."""
        arguments = [
            "run",
            str(self.folder),
            "--results",
            str(self.results),
            "--runtime",
            self.runtime,
        ]
        return main([*arguments, *more])

    def command(self, name: str, *more: str) -> int:
        return main([name, "latest", "--results", str(self.results), *more])

    @property
    def latest(self) -> Path:
        return (self.results / "latest").resolve()

    def records(self) -> list[dict[str, Any]]:
        lines = (self.latest / "ledger.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def trials(self) -> list[dict[str, Any]]:
        return [record for record in self.records() if record["kind"] == "trial"]


def make_lab(folder: Path, repository: Path, runtime: str) -> Lab:
    source = repository / "arms" / "reference"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source / "refengine", folder / "exp" / "lib" / "refengine", ignore=ignore)
    split = (source / "splitkv.py").read_text()
    assert split.count("SEGMENTS = 16") == 1
    (folder / "exp" / "splitkv.py").write_text(split.replace("SEGMENTS = 16", "SEGMENTS = 2"))
    (folder / "exp" / "experiment.yaml").write_text(TEXT)
    return Lab(folder / "exp", folder / "results", runtime)


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def lab(request: pytest.FixtureRequest, tmp_path: Path, repository: Path) -> Lab:
    """A lab in either runtime."""
    return make_lab(tmp_path, repository, request.param)


@pytest.fixture
def process_lab(tmp_path: Path, repository: Path) -> Lab:
    return make_lab(tmp_path, repository, "process")


@pytest.fixture
def containers_of() -> Iterator[Callable[[Path], list[str]]]:
    """Ask the engine for every container of one run, running or not."""
    import docker

    client = docker.from_env()

    def ask(run_folder: Path) -> list[str]:
        found = client.containers.list(
            all=True, filters={"label": f"abtest.run={run_folder.name}"}, ignore_removed=True
        )
        return [str(container.name) for container in found]

    yield ask
    client.close()


@pytest.fixture
def abtest_program() -> list[str]:
    """The program as another process: for signals, and for an environment of its own."""
    return [sys.executable, "-m", "abtest"]


@pytest.fixture
def at_trial(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], None]:
    """Do something right before the trial of a number begins."""

    def plan(number: int, call: Callable[[], object]) -> None:
        real, count = trial_of.run_trial, 0

        def run_trial(*args: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == number:
                call()
            return real(*args, **named)

        monkeypatch.setattr(campaign, "run_trial", run_trial)

    return plan

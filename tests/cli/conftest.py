"""Simulated runs through `main()`: the reference experiment on a machine whose truth a test may choose."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from abtest.cli import session
from abtest.cli.main import main
from abtest.ledger import store
from abtest.runtimes.simulated import Truth


@dataclass
class Desk:
    """One results folder and a shell before it."""

    experiment: Path
    results: Path
    capsys: pytest.CaptureFixture[str]
    out: str = ""
    err: str = ""

    def shell(self, *arguments: str) -> int:
        """Run a command with this results folder; keeps what it said."""
        code = main([*arguments, "--results", str(self.results)])
        self.out, self.err = self.capsys.readouterr()
        return code

    def run(self, *arguments: str) -> int:
        return self.shell("run", str(self.experiment), "--simulate", "--depths", "512", *arguments)

    @property
    def latest(self) -> Path:
        return self.results / "latest"

    @property
    def contents(self) -> store.Contents:
        return store.read(self.latest)

    def rounds(self, depth: int = 512) -> list[int]:
        """List the round of every counted trial of a depth, in file order."""
        return [one.round for one in self.contents.standing if one.counts and one.depth == depth]

    def summary(self, *arguments: str) -> Any:
        self.shell("summary", "latest", "--format", "json", *arguments)
        return json.loads(self.out)

    def cut(self, lines: int) -> None:
        """Leave only so many lines of the ledger: what a killed run would have left."""
        path = self.latest / store.LEDGER
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))


@pytest.fixture
def desk(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(repository / "arms" / "reference", tmp_path / "results", capsys)


@pytest.fixture
def set_truth(monkeypatch: pytest.MonkeyPatch) -> Callable[[Truth], None]:
    """Choose what the simulated machine is."""

    def choose(truth: Truth) -> None:
        monkeypatch.setattr(session, "_truth", lambda *_: truth)

    return choose


@pytest.fixture
def set_rates(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Sequence[float]]], None]:
    """Choose each trial's factor on the decode time, per arm and in time order; warm-ups draw none."""

    def choose(factors: dict[str, Sequence[float]]) -> None:
        from abtest.runtimes.simulated import SimulatedRuntime

        plain = SimulatedRuntime.report

        def report(self: SimulatedRuntime, request: Any) -> dict[str, Any]:
            found = plain(self, request)
            arm = request.arm
            number = int(request.trial.partition("-")[0][1:]) if request.trial[0] == "r" else 0
            if number and arm in factors:
                factor = factors[arm][number - 1]
                for pair in found["pairs"]:
                    pair["t_long_s"] = pair["t_short_s"] + 56 * 0.02 * factor
                found["token_s_per_token"] = []
            return found

        monkeypatch.setattr(SimulatedRuntime, "report", report)

    return choose

"""Resume: the same digits as without an interruption, a refusal of anything that was changed, no remains."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from abtest.cli import choice
from abtest.cli.main import main
from abtest.ledger import store

Capture = pytest.CaptureFixture[str]


class Runs:
    """Simulated runs of one experiment in one results folder."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self.experiment = folder / "exp"
        self.results = folder / "results"
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(repository / "arms" / "reference", self.experiment, ignore=ignore)

    def start(self, *more: str) -> int:
        narrow = ["--simulate", "--depths", "512", "--rounds", "4"]
        return main(["run", str(self.experiment), *narrow, "--results", str(self.results), *more])

    def resume(self) -> int:
        return main(
            ["run", str(self.experiment), "--resume", "latest", "--results", str(self.results)]
        )

    @property
    def latest(self) -> Path:
        return (self.results / "latest").resolve()

    @property
    def ledger(self) -> Path:
        return self.latest / store.LEDGER

    def edit(self, old: str, new: str) -> None:
        path = self.experiment / "experiment.yaml"
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))


@pytest.fixture
def runs(tmp_path: Path, repository: Path) -> Runs:
    return Runs(tmp_path, repository)


def figures(runs: Runs, capsys: Capture) -> object:
    capsys.readouterr()
    assert main(["summary", "latest", "--format", "json", "--results", str(runs.results)]) == 0
    body = json.loads(capsys.readouterr().out)
    return [body["cells"], body["effects"], body["depth"]]


@pytest.mark.parametrize("lines", [1, 4, 5, 8])
def test_an_interrupted_simulated_run_ends_in_the_digits_of_an_undisturbed_one(
    lines: int, runs: Runs, capsys: Capture
) -> None:
    assert runs.start() == 0
    whole = figures(runs, capsys)
    text = runs.ledger.read_text().splitlines(keepends=True)
    runs.ledger.write_text("".join(text[:lines]) + text[lines][:50])
    assert runs.resume() == 0
    assert figures(runs, capsys) == whole


def test_more_rounds_of_a_simulated_run_do_not_repeat_the_first_ones(runs: Runs) -> None:
    assert runs.start() == 0
    assert main(["rerun", "latest", "--cell", "stock@512", "--results", str(runs.results)]) == 0
    counted = [one for one in store.read(runs.latest).standing if one.counts]
    assert len({one.pairs for one in counted}) == len(counted) == 12


def change_a_digit(runs: Runs) -> None:
    text = runs.ledger.read_text()
    place = text.index('"t_long_s":') + len('"t_long_s":') + 4
    runs.ledger.write_text(text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :])


def put_half_a_character(runs: Runs) -> None:
    runs.ledger.write_bytes(runs.ledger.read_bytes().replace(b'"host":"', b'"host":"\xe4', 1))


def edit_a_sidecar(runs: Runs) -> None:
    """A simulated run has none: give its last record one, as a real run has it."""
    from dataclasses import replace

    from abtest.ledger import codec

    contents = store.read(runs.latest)
    last = replace(contents.records[-1], files={"trial.json": "0" * 64})
    lines = runs.ledger.read_text().splitlines(keepends=True)
    runs.ledger.write_text("".join(lines[:-1]) + codec.encode(last))
    (runs.latest / "trials" / last.trial / "trial.json").write_text("{}")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (change_a_digit, "line 1: its checksum does not hold"),
        (put_half_a_character, "line 1: "),
        (edit_a_sidecar, "trial.json is not the file that was recorded"),
        (lambda runs: runs.edit("depths: [", "batches: [1, 2]\ndepths: ["), "depths and batches"),
    ],
)
def test_what_is_not_as_it_was_written_is_named_and_refused(
    harm: Callable[[Runs], None], words: str, runs: Runs, capsys: Capture
) -> None:
    assert runs.start() == 0
    harm(runs)
    before = runs.ledger.read_bytes()
    capsys.readouterr()
    assert runs.resume() == 3
    assert words in capsys.readouterr().err
    assert main(["rerun", "latest", "--cell", "stock@512", "--results", str(runs.results)]) == 3
    assert runs.ledger.read_bytes() == before


def test_a_changed_digit_is_found_by_verify_and_said_by_summary(
    runs: Runs, capsys: Capture
) -> None:
    assert runs.start() == 0
    change_a_digit(runs)
    capsys.readouterr()
    assert main(["verify", "latest", "--results", str(runs.results)]) == 1
    assert main(["summary", "latest", "--results", str(runs.results)]) == 0
    said = capsys.readouterr()
    assert "its checksum does not hold" in said.out
    assert "its checksum does not hold" in said.err


def test_half_made_files_of_a_killed_session_are_swept_by_the_next_one(runs: Runs) -> None:
    assert runs.start() == 0
    part = f"trials/{store.read(runs.latest).records[0].trial}/.trial.json.part"
    for name in (part, ".session.json.17", ".experiment.yaml.1", ".latest.3", "staged/.abc.py.5"):
        (runs.latest / name).touch()
    (runs.latest / ".work" / "old").mkdir(parents=True)
    assert runs.resume() == 0
    assert [path.name for path in runs.latest.rglob(".*")] == []


def test_a_run_that_was_killed_before_it_began_is_swept_and_a_live_one_is_not(runs: Runs) -> None:
    dead, live = runs.results / "demo-dead", runs.results / "demo-live"
    for folder in (dead, live):
        (folder / ".work").mkdir(parents=True)
        (folder / "lock").touch()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import filelock; lock = filelock.FileLock({str(live / 'lock')!r}); lock.acquire(); print(flush=True); input()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"\n"
    try:
        assert runs.start() == 0
    finally:
        holder.communicate(b"\n", timeout=20)
    assert not dead.exists()
    assert live.is_dir()


def test_an_experiment_that_is_edited_while_it_is_read_is_refused(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Else the copy beside the ledger would not be what was run."""
    real = choice.chosen

    def chosen(*args: object, **more: object) -> object:
        found = real(*args, **more)  # type: ignore[arg-type]  # handed on
        runs.edit("rounds: 4", "rounds: 6")
        return found

    monkeypatch.setattr("abtest.cli.run.chosen", chosen)
    assert runs.start() == 2
    assert "was edited while it was read" in capsys.readouterr().err

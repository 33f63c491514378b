"""`abtest status` on running, finished, stopped and killed runs, and `abtest diff`."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from abtest.cli import sitting
from abtest.cli.main import main
from abtest.ledger import store

HOLD = """
import sys, time
from pathlib import Path
from abtest.cli import sitting
from abtest.cli.clock import RealClock
from abtest.ledger import store
from abtest.model.names import Cell
from abtest.model.trial import PlannedTrial
folder = Path(sys.argv[1])
plan = [PlannedTrial(Cell.parse(f"{arm}@512"), 3, slot, slot) for slot, arm in enumerate(("stock", "splitkv"), 1)]
with store.locked(folder, RealClock()), sitting.sitting(folder, plan, RealClock()):
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def root(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A results folder with one finished simulated run of two rounds."""
    run = [
        "run",
        str(repository / "arms" / "reference"),
        "--simulate",
        "--rounds",
        "2",
        "--depths",
        "512",
    ]
    assert main([*run, "--results", str(tmp_path)]) == 0
    capsys.readouterr()
    return tmp_path


def told(root: Path, capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert main([*command, "--results", str(root)]) == 0
    return capsys.readouterr().out


@contextmanager
def held(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the run as a live session does."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_a_finished_run_says_so(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(root, capsys, "status", "latest")
    assert "state: finished\n" in said
    assert "trials: 6 of 6 done\n" in said
    assert "records so far: 6 ok\n" in said
    assert "flag: few-rounds - stock@512, splitkv@512\n" in said
    assert "next:" not in said


def test_a_run_without_a_session_file_is_held_against_its_plan(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = (root / "latest").resolve()
    (folder / sitting.FILE).unlink()
    assert "state: finished\n" in told(root, capsys, "status", "latest")
    ledger = folder / store.LEDGER
    ledger.write_text("".join(ledger.read_text().splitlines(keepends=True)[:-1]))
    said = told(root, capsys, "status", "latest")
    assert "state: stopped: before its plan was done\n" in said
    assert "trials: 5 of 6 done\n" in said
    assert f"--resume {folder.name}" in said


def test_a_running_one_names_trial_phase_and_time_left_and_a_killed_one_is_dead(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = (root / "latest").resolve()
    current = folder / "trials" / "r03-512-s1-stock"
    current.mkdir()
    (current / "progress.jsonl").write_text('{"phase": "warmup"}\n{"phase": "measure"}\n')
    with held(folder) as process:
        said = told(root, capsys, "status", "latest")
        assert "state: running\n" in said
        assert "trials: 0 of 2 done\n" in said
        assert "trial: r03-512-s1-stock, phase measure\n" in said
        assert "left: about 0 s, from the trials so far\n" in said
        assert "incomplete" not in said
        process.kill()
        process.wait()
        said = told(root, capsys, "status", "latest")
    assert "state: dead: nothing holds the run's lock" in said
    assert "next: go on with" in said


def test_looking_at_a_run_neither_makes_nor_holds_its_lock(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = (root / "latest").resolve()
    (folder / store.LOCK).unlink(missing_ok=True)
    told(root, capsys, "status", "latest")
    assert not (folder / store.LOCK).exists()


def test_a_failed_session_says_what_ended_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = (root / "latest").resolve() / sitting.FILE
    body = json.loads(path.read_text())
    path.write_text(
        json.dumps({**body, "trials": ["r09-512-s1-stock"], "ended": "disk\x1b[2J full"})
    )
    said = told(root, capsys, "status", "latest")
    assert "state: stopped: disk\\x1b[2J full\n" in said


def test_status_of_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "nothing", "--results", str(tmp_path)]) == 2
    assert "is not a run" in capsys.readouterr().err


def test_diff_shows_what_differs_and_nothing_else(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(root, capsys, "diff", "latest", "r01-512-s1-stock", "r01-512-s2-splitkv")
    assert said.count("  identity.*.md5\n") == 1, "four answers that differ alike are told once"
    assert re.search(r"^  slot +1 -> 2$", said, re.MULTILINE)
    assert "pairs.1.t_long_s" in said
    assert "pid" not in said
    assert "spec_sha256" not in said


def test_diff_of_a_trial_with_itself_is_empty(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(root, capsys, "diff", "latest", "r01-512-s1-stock", "r01-512-s1-stock")
    assert said.count("no difference") == 3


def test_diff_with_an_unknown_trial_names_near_ones(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["diff", "latest", "r01-512-s1-stok", "r01-512-s1-stock", "--results", str(root)]
    assert main(arguments) == 2
    assert "such as r01-512-s1-stock" in capsys.readouterr().err

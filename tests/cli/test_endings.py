"""How a run may end badly: a full disk, a bug of ours, a signal before anything began; each says so and keeps the ledger."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from abtest.cli import main as module
from abtest.cli import results
from abtest.cli.main import main
from abtest.ledger import store
from abtest.runtimes.simulated import SimulatedRuntime

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def arguments(repository: Path, tmp_path: Path) -> list[str]:
    """A simulated run of six trials."""
    reference = str(repository / "arms" / "reference")
    narrow = ["--simulate", "--depths", "512", "--rounds", "2"]
    return ["run", reference, *narrow, "--results", str(tmp_path)]


def at_trial(number: int, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant an error of any kind into one trial."""
    real, count = SimulatedRuntime.report, 0

    def report(self: SimulatedRuntime, request: Any) -> Any:
        nonlocal count
        count += 1
        if count == number:
            raise error
        return real(self, request)

    monkeypatch.setattr(SimulatedRuntime, "report", report)


def test_a_bug_of_ours_is_told_in_a_few_lines_and_leaves_its_log_and_a_sound_ledger(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    at_trial(5, ZeroDivisionError("planted"), monkeypatch)
    assert main(arguments) == 70
    said = capsys.readouterr().err
    run = (tmp_path / "latest").resolve()
    log = run / "internal-error.log"
    assert "internal error: ZeroDivisionError: planted" in said
    assert f"report it with {log}" in said
    assert "Traceback" not in said
    assert "Traceback" in log.read_text()
    contents = store.read(run)
    assert (len(contents.records), contents.faults, contents.torn) == (4, (), None)
    assert json.loads((run / "session.json").read_text())["ended"] == "interrupted"
    monkeypatch.undo()
    assert main([*arguments[:3], "--resume", "latest", "--results", str(tmp_path)]) in {0, 5}


def test_a_pipe_that_breaks_inside_a_run_is_no_success(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    at_trial(2, BrokenPipeError(), monkeypatch)
    assert main(arguments) == 70
    assert "BrokenPipeError" in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_fails_anywhere_is_infrastructure_with_a_remedy(
    number: int, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    at_trial(3, OSError(number, os.strerror(number), "some/file"), monkeypatch)
    assert main(arguments) == 4
    said = capsys.readouterr().err
    assert os.strerror(number) in said
    assert "use --resume" in said


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (module.InterruptedRunError(), 130),
        (OSError(errno.ENOSPC, "No space left on device", "x"), 4),
    ],
)
def test_what_ended_before_a_run_began_is_not_told_to_be_resumed(
    error: BaseException,
    code: int,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    """`latest` would be another, older run."""

    def survey(*_: object) -> None:
        raise error

    monkeypatch.setattr(SimulatedRuntime, "survey", survey)
    assert main(arguments) == code
    said = capsys.readouterr().err
    assert "start again" in said
    assert "--resume" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_signal_inside_a_run_tells_how_to_go_on(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    at_trial(3, module.InterruptedRunError(), monkeypatch)
    assert main(arguments) == 130
    assert "--resume latest" in capsys.readouterr().err


def test_a_signal_before_or_after_a_run_does_not_send_the_user_to_another_run(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The folder is not made yet, so nobody knows of a run; `--resume latest` would go on with an older one."""

    def new_name(*_: object) -> str:
        raise module.InterruptedRunError

    monkeypatch.setattr(results, "new_name", new_name)
    assert main(arguments) == 130
    said = capsys.readouterr().err
    assert "--resume" not in said
    assert "abtest status latest" in said

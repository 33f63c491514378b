"""The commands through `main()`: output, exit codes, and what happens to the unexpected."""

import subprocess
import sys
from pathlib import Path

import pytest

from abtest import __version__
from abtest.cli import main as module
from abtest.cli.main import main


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"abtest {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nope"],
        ["frob"],
        ["run"],
        ["run", "x", "--rounds", "two"],
        ["run", "x", "--runtime", "podman"],
    ],
)
def test_a_wrong_command_line_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err


def test_a_dry_run_prints_the_order_and_what_it_knows_of_the_time(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = str(repository / "arms" / "reference")
    assert (
        main(["run", experiment, "--dry-run", "--depths", "512", "--results", str(tmp_path)]) == 0
    )
    said = capsys.readouterr().out
    order = [" ".join(line.split()[3:]) for line in said.splitlines() if " round " in line]
    assert order == [
        "stock@512 splitkv@512",
        "splitkv@512 stock@512",
        "splitkv@512 stock@512",
        "stock@512 splitkv@512",
    ]
    assert "not known before a first run here; at most 10 x 300 s" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--arms", "stock"], "two or more"),
        (["--arms", "stock,stock"], "two or more"),
        (["--arms", "stock,nobody"], "is not an arm"),
        (["--depths", "513"], "not [513]"),
        (["--depths", "512,512"], "each once"),
        (["--depths", "a"], "not a list of numbers"),
        (["--rounds", "3"], "even"),
        (["--rounds", "0"], "even"),
    ],
)
def test_a_choice_that_is_not_there_is_refused_before_anything_starts(
    arguments: list[str], words: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(repository / "arms" / "reference"), "--dry-run", *arguments]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert "  next: " in said.err


@pytest.mark.parametrize("command", ["summary", "rerun"])
def test_a_run_that_is_not_there_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--cell", "a@1"] if command == "rerun" else []
    assert main([command, "nothing", "--results", str(tmp_path), *more]) == 2
    assert "is not a run" in capsys.readouterr().err


def test_a_bug_of_ours_exits_with_70_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(module, "app", broken)
    assert main(["--version"]) == 70
    assert "This is a bug of abtest" in capsys.readouterr().err


def test_terminal_escapes_of_foreign_text_are_shown_not_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text('schema: 1\nname: "\\e[31mred"\n')
    assert main(["run", str(path), "--dry-run"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_doctor_without_an_engine_warns_with_a_remedy_and_exits_with_0(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    assert main(["doctor", "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "warn  container engine: none answers" in said
    assert "remedy: Install and start one" in said


@pytest.mark.docker
def test_doctor_finds_the_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--results", str(tmp_path)]) == 0
    assert "ok    container engine: Docker API answers" in capsys.readouterr().out


def test_help_imports_nothing_heavy() -> None:
    """Help must answer at once: the libraries that take long are imported where they are used."""
    code = (
        "import sys; from abtest.cli.main import main; main(['--help']); "
        "print([m for m in ('docker', 'jinja2', 'scipy', 'numpy', 'pandas', 'pydantic', 'structlog', 'yaml') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"

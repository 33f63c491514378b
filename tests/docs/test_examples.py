"""Every command line of the documents: its command and options exist, and those that can be run here are run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from abtest.cli.app import app
from abtest.cli.main import main

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    [
        *REPOSITORY.glob("*.md"),
        *(REPOSITORY / "docs").glob("*.md"),
        *REPOSITORY.glob("arms/*/README.md"),
    ]
)
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINE = re.compile(
    r"^\s*(?:\$ )?(?:\.venv/bin/)?((?:abtest|make) (?:'[^'\n]*'|[^#>\n'])+)", re.MULTILINE
)
OPTIONAL = re.compile(r"\[[^\]]*\]")
PLACEHOLDER = re.compile(r"[A-Z]{2,}|\.\.|[<{]")
# These need nothing but a finished run; the others are only parsed here and have tests of their own.
RUNNABLE = {"run", "rerun", "summary", "report", "status", "diff", "schema"}


def lines(program: str) -> Iterator[str]:
    """Give the command lines in code of all documents, once each."""
    found = (
        line.strip()
        for path in DOCUMENTS
        for code in CODE.findall(path.read_text(encoding="utf-8"))
        for line in LINE.findall(code.strip("`\n").replace("\\|", "|").replace("\\\n", " "))
    )
    yield from sorted({line for line in found if line.startswith(f"{program} ")})


def words(line: str) -> list[str]:
    return shlex.split(re.sub(r"[\[\]]", " ", line))


def options() -> dict[str, set[str]]:
    """The options of each command, as the program knows them."""
    group = typer.main.get_command(app)
    commands = group.commands  # type: ignore[attr-defined]  # a group, as there are several commands
    return {
        name: {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        for name, command in commands.items()
    }


def wrong(line: str) -> list[str]:
    """Name what of a command line the program does not have."""
    program, command, *rest = words(line)
    assert program == "abtest"
    known = options()
    if command.startswith("-"):
        return [] if command in {"--help", "--version"} else [command]
    if command not in known:
        return [command]
    given = [word.partition("=")[0] for word in rest if word.startswith("-") and len(word) > 1]
    return [one for one in given if one not in known[command] | {"--help", "-h"}]


def test_there_are_command_lines_to_check() -> None:
    assert len(list(lines("abtest"))) > 5
    assert len(list(lines("make"))) > 1


@pytest.mark.parametrize("line", list(lines("abtest")))
def test_command_and_options_exist(line: str) -> None:
    assert wrong(line) == []


@pytest.mark.parametrize("line", list(lines("make")))
def test_targets_and_variables_exist(line: str) -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for word in words(line)[1:]:
        if word in {"|", "&&", "..", "..."}:
            break
        name, assigned, _ = word.partition("=")
        pattern = rf"^{name} [?:]=" if assigned else rf"^{name}:"
        assert re.search(pattern, makefile, flags=re.MULTILINE), f"{word} in {line}"


@pytest.mark.parametrize(
    ("line", "missing"),
    [("abtest frob latest", ["frob"]), ("abtest summary latest --colour", ["--colour"])],
)
def test_what_does_not_exist_is_found(line: str, missing: list[str]) -> None:
    assert wrong(line) == missing


def runnable() -> Iterator[str]:
    """Give the lines that are whole commands, without their optional parts."""
    for line in lines("abtest"):
        text = " ".join(OPTIONAL.sub("", line).split())
        command, *rest = text.split()[1:]
        whole = bool(rest) and not rest[0].startswith("-")
        known = text.replace("EXPERIMENT", "").replace("RESULTS", "")
        if command in RUNNABLE and whole and not PLACEHOLDER.search(known):
            yield text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `latest` is a finished simulated run."""
    folder = tmp_path_factory.mktemp("examples")
    arms = str(REPOSITORY / "arms" / "reference")
    assert main(["run", arms, "--simulate", "--results", str(folder / "results")]) == 0
    return folder


@pytest.mark.parametrize("line", sorted(set(runnable())))
def test_it_runs(line: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    reference = str(REPOSITORY / "arms" / "reference")
    named = line.replace("RESULTS", "latest").replace("arms/reference", reference)
    arguments = shlex.split(named.replace("EXPERIMENT", reference))[1:]
    simulated = ["--simulate"] if arguments[0] == "run" and "--simulate" not in arguments else []
    assert main([*arguments, *simulated]) == 0

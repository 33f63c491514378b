"""What the commands share: the program, its options, and how their texts are read."""

import platform
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from abtest import __version__
from abtest.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from abtest.cli.gating import Gates
    from abtest.cli.session import Options

app = typer.Typer(
    name="abtest",
    help="Controlled A/B experiments for inference kernels: fresh sandboxes, proof of the code that ran.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class RuntimeName(StrEnum):
    """Where trials run."""

    AUTO = "auto"
    DOCKER = "docker"
    PROCESS = "process"


class FormatName(StrEnum):
    """How a summary is written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


class SchemaName(StrEnum):
    """What a JSON schema is of."""

    EXPERIMENT = "experiment"
    SUMMARY = "summary"


ExperimentPath = Annotated[
    Path, typer.Argument(help="Experiment file, or the folder that holds it.")
]
ResultsName = Annotated[
    str, typer.Argument(help="A run's folder, or its name below --results; `latest` works.")
]
Root = Annotated[Path, typer.Option("--results", help="Folder that holds the runs.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Progress as JSON lines on stderr.")]
HostAccess = Annotated[
    bool,
    typer.Option(
        "--allow-host-access",
        help="Allow volumes that hand over the host, such as its engine's socket.",
    ),
]
GateTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--gate",
        help="Exit 0 only if this is met, such as 'splitkv@8192>=1.05' or 'splitkv@*>=1.05'; may stand several times.",
    ),
]
GateRounds = Annotated[
    int, typer.Option("--gate-rounds", help="The gates' last look: 4, 6 or 8 rounds.")
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Warnings about this machine refuse the run (exit 4).")
]
RESULTS = Path("results")
LAST_LOOK = 8


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"abtest {__version__}")
        raise typer.Exit


def session_options(
    *,
    simulate: bool,
    log_json: bool,
    allow_host_access: bool,
    budget: str | None = None,
    strict: bool = False,
) -> "Options":
    from abtest.cli.budget import seconds_of
    from abtest.cli.session import Options

    budget_s = None if budget is None else seconds_of(budget)
    return Options(simulate, log_json, allow_host_access, budget_s, strict)


def show(folder: Path, form: FormatName, rounds: str | None, gates: "Gates | None" = None) -> None:
    import os

    from abtest.cli.gating import NO_GATES
    from abtest.cli.summary import parse_rounds, show

    show(folder, form.value, parse_rounds(rounds), os.environ, gates or NO_GATES)


def gates_of(texts: list[str] | None, rounds: int) -> "Gates":
    from abtest.cli.gating import parse_gates

    return parse_gates(texts or [], rounds)


def names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(","))


def numbers(option: str, text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"{option} {text!r}: not a list of numbers", remedy="Write such as 512,2048."
        ) from error


def need_linux() -> None:
    if platform.system() != "Linux":
        raise InfrastructureError(
            f"trials run on Linux, this is {platform.system()}",
            remedy="Run on Linux; `abtest summary` works anywhere.",
        )


def visible(text: str) -> str:
    """Show control characters of foreign text instead of letting the terminal act on them."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text
    )

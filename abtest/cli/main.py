"""The command line: arguments in, one exit code out."""

import contextlib
import platform
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from abtest import __version__
from abtest.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    AbtestError,
    InfrastructureError,
    UsageError,
)

if TYPE_CHECKING:
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
    JSON = "json"


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
RESULTS = Path("results")


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"abtest {__version__}")
        raise typer.Exit


@app.command()
def run(
    experiment: ExperimentPath,
    arms: Annotated[
        str | None, typer.Option(help="Comma-separated arms, the baseline among them.")
    ] = None,
    depths: Annotated[str | None, typer.Option(help="Comma-separated context depths.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds, an even number.")] = None,
    runtime: Annotated[RuntimeName | None, typer.Option(help="Where trials run.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the order of trials and an estimate.")
    ] = False,
    resume: Annotated[
        str | None, typer.Option(help="Go on with this run, after proving nothing changed.")
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="A machine with a known truth; nothing is measured.")
    ] = False,
    results: Root = RESULTS,
    log_json: LogJson = False,
    allow_host_access: HostAccess = False,
) -> None:
    """Plan an experiment, run it in fresh sandboxes, print the table."""
    from abtest.cli import results as folders
    from abtest.cli import run as commands
    from abtest.cli.dry import dry_run_text

    choice = commands.Choice(
        _names(arms),
        _numbers("--depths", depths),
        rounds,
        None if runtime is None else runtime.value,
    )
    if dry_run:
        narrowed, _, _ = commands.chosen(experiment, choice, simulate=simulate)
        print(dry_run_text(narrowed, commands.full_plan(narrowed), results), end="")
        return
    options = _options(simulate=simulate, log_json=log_json, allow_host_access=allow_host_access)
    _need_linux()
    if resume is None:
        folder = commands.start(experiment, choice, results, options)
    else:
        folder = commands.resume(experiment, choice, folders.find(resume, results), options)
    _show(folder, FormatName.TABLE, None)


@app.command()
def rerun(
    run_name: ResultsName,
    cell: Annotated[str, typer.Option(help="The suspicious cell, such as splitkv@8192.")],
    rounds: Annotated[int, typer.Option(help="Rounds to add, an even number.")] = 2,
    results: Root = RESULTS,
    log_json: LogJson = False,
    allow_host_access: HostAccess = False,
) -> None:
    """Add whole blocks, all arms in mirrored order, for one cell's condition."""
    from abtest.cli import results as folders
    from abtest.cli import run as commands
    from abtest.model.names import Cell

    try:
        wanted = Cell.parse(cell)
    except ValueError as error:
        raise UsageError(f"--cell: {error}", remedy="Name a cell of the run's table.") from error
    options = _options(simulate=False, log_json=log_json, allow_host_access=allow_host_access)
    _need_linux()
    folder = commands.rerun(folders.find(run_name, results), wanted, rounds, options)
    _show(folder, FormatName.TABLE, None)


@app.command()
def summary(
    run_name: ResultsName = "latest",
    form: Annotated[
        FormatName, typer.Option("--format", help="How to write it.")
    ] = FormatName.TABLE,
    rounds: Annotated[str | None, typer.Option(help="Only these rounds, such as 1-2.")] = None,
    results: Root = RESULTS,
) -> None:
    """Print the table again, from the ledger."""
    from abtest.cli import results as folders

    _show(folders.find(run_name, results), form, rounds)


@app.command()
def doctor(results: Root = RESULTS) -> None:
    """Tell what this machine lacks."""
    from abtest.cli.doctor import checks, render

    found = checks(results)
    print(render(found), end="")
    bad = [check.name for check in found if check.level == "fail"]
    if bad:
        raise InfrastructureError(
            f"not fit to run: {', '.join(bad)}", remedy="Follow the remedies above."
        )


@app.command()
def schema() -> None:
    """Print the JSON schema of experiment files, for editors."""
    from abtest.spec.schema import schema_text

    print(schema_text(), end="")


def _options(*, simulate: bool, log_json: bool, allow_host_access: bool) -> "Options":
    from abtest.cli.session import Options

    return Options(simulate, log_json, allow_host_access)


def _show(folder: Path, form: FormatName, rounds: str | None) -> None:
    import os

    from abtest.cli.summary import parse_rounds, show

    show(folder, form.value, parse_rounds(rounds), os.environ)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(","))


def _numbers(option: str, text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"{option} {text!r}: not a list of numbers", remedy="Write such as 512,2048."
        ) from error


def _need_linux() -> None:
    if platform.system() != "Linux":
        raise InfrastructureError(
            f"trials run on Linux, this is {platform.system()}",
            remedy="Run on Linux; `abtest summary` works anywhere.",
        )


class InterruptedRunError(BaseException):
    """A signal asked us to stop; not an Exception, so that nothing on the way takes it for a failure."""


def _on_signal(_number: int, _frame: object) -> NoReturn:
    raise InterruptedRunError


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into an orderly end, for as long as the command runs."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread():
        yield  # an embedding program keeps its own handlers
        return
    before = {number: signal.signal(number, _on_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code and never raises."""
    arguments = None if argv is None else list(argv)
    try:
        with _signals():
            code = app(args=arguments, standalone_mode=False, prog_name="abtest")
    except (Exception, InterruptedRunError) as error:  # noqa: BLE001 - every end gets its exit code
        return _exit_code(error)
    return code if isinstance(code, int) else EXIT_OK


def _exit_code(error: BaseException) -> int:
    """Tell the user what ended the command, and choose the exit code."""
    match error:
        case AbtestError():
            _complain(error)
            return error.exit_code
        case typer.Abort() | InterruptedRunError():
            print(
                "interrupted: the ledger is intact; go on with `abtest run EXPERIMENT --resume latest`",
                file=sys.stderr,
            )
            return EXIT_INTERRUPTED
        case _ if callable(
            show := getattr(error, "show", None)
        ):  # click's own, whichever copy typer uses
            show()
            return EXIT_USAGE
        case BrokenPipeError():
            sys.stderr.close()  # the reader went away: nothing more can be said
            return EXIT_OK
        case _:
            return _report_bug(error)


def _complain(error: AbtestError) -> None:
    print(f"error: {_visible(error.what)}", file=sys.stderr)
    if error.remedy:
        print(f"  next: {_visible(error.remedy)}", file=sys.stderr)


def _visible(text: str) -> str:
    """Show control characters of foreign text instead of letting the terminal act on them."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text
    )


def _report_bug(error: BaseException) -> int:
    place = traceback.extract_tb(error.__traceback__)[-1]
    print(
        f"internal error: {type(error).__name__}: {_visible(str(error))} ({Path(place.filename).name}:{place.lineno})\n"
        "  This is a bug of abtest, not of your experiment. Records written so far are safe in the ledger.\n",
        file=sys.stderr,
    )
    traceback.print_exception(error, file=sys.stderr)
    return EXIT_INTERNAL


def entry() -> NoReturn:
    """Entry point of the `abtest` program."""
    sys.exit(main())

"""The command line: arguments in, one exit code out."""

import contextlib
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import typer

from abtest.cli.app import app, visible
from abtest.cli.commands import controlling, importing, machine, measuring, reading  # noqa: F401 - registers the commands
from abtest.errors import EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, AbtestError


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
    print(f"error: {visible(error.what)}", file=sys.stderr)
    if error.remedy:
        print(f"  next: {visible(error.remedy)}", file=sys.stderr)


def _report_bug(error: BaseException) -> int:
    place = traceback.extract_tb(error.__traceback__)[-1]
    print(
        f"internal error: {type(error).__name__}: {visible(str(error))} ({Path(place.filename).name}:{place.lineno})\n"
        "  This is a bug of abtest, not of your experiment. Records written so far are safe in the ledger.\n",
        file=sys.stderr,
    )
    traceback.print_exception(error, file=sys.stderr)
    return EXIT_INTERNAL


def entry() -> NoReturn:
    """Entry point of the `abtest` program."""
    sys.exit(main())

"""The command line: arguments in, one exit code out."""

import contextlib
import errno
import gc
import select
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
from abtest.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    LOG_PLACE,
    NOTHING_BEGUN,
    AbtestError,
    InfrastructureError,
)

UNKNOWN = (
    "what was recorded is safe in its ledger; `abtest status latest` tells what is left to run"
)
GO_ON = "the ledger is intact; go on with `abtest run EXPERIMENT --resume latest`"
DISK = {  # what a file system may say at any write, wherever it is made
    errno.ENOSPC: "Free some space, then use --resume.",
    errno.EDQUOT: "Free some space or raise the quota, then use --resume.",
    errno.EROFS: "Make the results folder writable, then use --resume.",
    errno.EACCES: "Look at the owner and the mode of that file, then use --resume.",
    errno.EIO: "Look at the disk and the system's log, then use --resume.",
}


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
            print(f"interrupted: {_where_it_stands(error)}", file=sys.stderr)
            return EXIT_INTERRUPTED
        case _ if callable(
            show := getattr(error, "show", None)
        ):  # click's own, whichever copy typer uses
            show()
            return EXIT_USAGE
        case BrokenPipeError() if _reader_is_gone():
            sys.stderr.close()  # the reader went away: nothing more can be said
            return EXIT_OK
        case OSError(errno=number) if number in DISK:
            remedy = _after(error, DISK[number])
            _complain(InfrastructureError(f"the disk failed us: {error}", remedy=remedy))
            return InfrastructureError.exit_code
        case _:
            return _report_bug(error)


def _complain(error: AbtestError) -> None:
    print(f"error: {visible(error.what)}", file=sys.stderr)
    if error.remedy:
        print(f"  next: {visible(_after(error, error.remedy))}", file=sys.stderr)


def _unborn(error: BaseException) -> bool:
    """Tell whether the run ended before it came to a run, so that there is nothing to resume."""
    return NOTHING_BEGUN in getattr(error, "__notes__", ())


def _where_it_stands(error: BaseException) -> str:
    """Tell what to do after a signal; before and after a session nobody knows whether there is a run to go on with."""
    if _unborn(error):
        return NOTHING_BEGUN
    return GO_ON if any(map(_place_of, getattr(error, "__notes__", ()))) else UNKNOWN


def _after(error: BaseException, remedy: str) -> str:
    return remedy.replace("use --resume", "start again") if _unborn(error) else remedy


def _reader_is_gone() -> bool:
    """Tell whether nobody reads our output any more: another pipe may break too, and that is no success."""
    asked = select.poll()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # a stream without a file behind it
            asked.register(stream.fileno(), 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in asked.poll(0))


def _report_bug(error: BaseException) -> int:
    """Say in a few lines what broke; the trace goes to a log in the run's folder, where there is one."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    log = _write_log(error)
    print(
        f"internal error: {type(error).__name__}: {visible(str(error))} ({Path(place.filename).name}:{place.lineno})\n"
        "  This is a bug of abtest, not of your experiment. Records written so far are safe in the ledger.",
        file=sys.stderr,
    )
    if log is None:
        traceback.print_exception(error, file=sys.stderr)
    else:
        print(f"  next: report it with {log}, then use --resume.", file=sys.stderr)
    return EXIT_INTERNAL


def _write_log(error: BaseException) -> Path | None:
    """Write the trace into the folder that a note names; None where it cannot be."""
    for folder in filter(None, map(_place_of, getattr(error, "__notes__", ()))):
        with contextlib.suppress(OSError):  # then the trace goes to the terminal
            path = folder / "internal-error.log"
            path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
            return path
    return None


def _place_of(note: str) -> Path | None:
    """Read the run's folder from a note; None where it is another note, or the folder is gone."""
    folder = Path(note.removeprefix(LOG_PLACE))
    return folder if note.startswith(LOG_PLACE) and folder.is_dir() else None


def entry() -> NoReturn:
    """Entry point of the `abtest` program."""
    code = main()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(
            number, signal.SIG_IGN
        )  # all is done: its code must not get lost on the way out
    gc.freeze()  # nor is there any garbage worth looking for: that takes longer than all else on the way out
    sys.exit(code)

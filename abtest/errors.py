"""One tree of errors, one exit code per class.

A message says what happened, why it probably happened, and what to do next; the two halves are kept
apart (`what`, `remedy`) so that a terminal and a JSON log can show them in their own way.
"""

from typing import ClassVar

NOTHING_BEGUN = (
    "nothing was recorded yet; start again"  # a note on what ended a run before its first trial
)
LOG_PLACE = "log in: "  # a note on a bug of ours or a signal: the folder of the run that it ended
EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_UNPROVED = 3
EXIT_RUNTIME = 4
EXIT_INCONCLUSIVE = 5
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


class AbtestError(Exception):
    """What a user can be told about; everything else is a bug of ours (exit 70).

    Args:
        what: one or two sentences: what happened and where, and the likely reason.
        remedy: one sentence: what the user can do next.
    """

    exit_code: ClassVar[int] = EXIT_INTERNAL

    def __init__(self, what: str, *, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


class VerificationFailedError(AbtestError):
    """A gate was not met, or a quoted figure does not hold."""

    exit_code = EXIT_FAILED


class UsageError(AbtestError):
    """The command line asks for something that is not there."""

    exit_code = EXIT_USAGE


class SpecError(UsageError):
    """The experiment file is wrong; `what` begins with file, line and key path."""


class UnprovedError(AbtestError):
    """Identity, routes or integrity could not be proved: no number may be believed."""

    exit_code = EXIT_UNPROVED


class LedgerError(UnprovedError):
    """The ledger is not what this run would continue."""


class InfrastructureError(AbtestError):
    """The container engine, a process or the disk failed us."""

    exit_code = EXIT_RUNTIME


class LockedError(InfrastructureError):
    """Another run holds the results folder."""


class InconclusiveError(AbtestError):
    """There is nothing to compare, or the rounds cannot tell."""

    exit_code = EXIT_INCONCLUSIVE

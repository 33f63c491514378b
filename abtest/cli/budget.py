"""`--budget`: a length of time as people write it, and what is said when it is used up."""

import re
import sys
from pathlib import Path

from abtest.errors import UsageError

_PARTS = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")
UNITS_S = (3600, 60, 1)


def seconds_of(text: str) -> int:
    """Read a length of time.

    >>> seconds_of("1h30m")
    5400

    Raises:
        UsageError: it is no length of time, or none at all.
    """
    found = _PARTS.fullmatch(text.strip())
    parts = found.groups(default="0") if found else ()
    total_s = sum(int(part) * unit for part, unit in zip(parts, UNITS_S, strict=False))
    if total_s == 0:
        raise UsageError(
            f"--budget {text!r} is not a length of time",
            remedy="Write hours, minutes or seconds, such as 6h, 90m or 1h30m.",
        )
    return total_s


def tell_budget(folder: Path) -> None:
    """Say that a run was ended by its budget: what was not measured is missing from the tables."""
    print(
        f"the time budget ended this run after a whole block; conditions and rounds may be missing.\n"
        f"  next: go on with `abtest run EXPERIMENT --resume {folder.name}`",
        file=sys.stderr,
    )

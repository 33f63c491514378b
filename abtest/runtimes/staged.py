"""Checks of staged files before they take a target's place."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from abtest.errors import UnprovedError
from abtest.model.sandbox import Swap


def check(swaps: Sequence[Swap]) -> None:
    """Prove that every staged file is there and is what was planned.

    An engine that finds no file at a mount's source makes an empty folder there, and starts.

    Raises:
        UnprovedError: a staged path is missing, is no regular file, or has another content.
    """
    for swap in swaps:
        path = Path(swap.staged)
        if path.is_symlink() or not path.is_file():
            kind = (
                "a folder"
                if path.is_dir()
                else "missing"
                if not path.exists()
                else "not a regular file"
            )
            raise UnprovedError(
                f"staged file {path} is {kind}", remedy="Start a new run; leave its folder alone."
            )
        if hashlib.sha256(path.read_bytes()).hexdigest() != swap.sha256:
            raise UnprovedError(
                f"staged file {path} does not hold what was planned",
                remedy="Start a new run; leave its folder alone.",
            )

"""Harm to the file system below the results: full, or not writable. Needs root."""

import contextlib
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools.torture.lab import Lab

ROOM = "112m"  # a run wants 100 MiB to begin


def usable() -> bool:
    """Tell whether file systems can be mounted here."""
    return os.geteuid() == 0


@contextlib.contextmanager
def small(lab: Lab) -> Iterator[None]:
    """Put the results on a small memory file system."""
    _mount("-t", "tmpfs", "-o", f"size={ROOM}", "torture", str(lab.results))
    try:
        yield
    finally:
        _unmount(lab.results)


def fill(lab: Lab, _chance: random.Random) -> None:
    """Write until nothing more fits, byte by byte at the end."""
    ballast = lab.results / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"\0" * size):
                    pass
    lab.undo.append(lambda: ballast.unlink(missing_ok=True))


def protect(lab: Lab, _chance: random.Random) -> None:
    """Lay a read-only view of the results over them: open files stay writable, new ones cannot be made."""
    _mount("--bind", str(lab.results), str(lab.results))
    _mount("-o", "remount,ro,bind", str(lab.results))
    lab.undo.append(lambda: _unmount(lab.results))


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


def _unmount(path: Path) -> None:
    subprocess.run(["umount", "-l", str(path)], check=True, capture_output=True)

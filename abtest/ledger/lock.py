"""Who holds a run's folder, as seen from outside it."""

import os
from pathlib import Path

from abtest.ledger.store import LOCK


def is_free(folder: Path) -> bool:
    """Tell whether no live run holds this folder; one that cannot be seen from here is not ours to call free."""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - tables are read without it

    if not folder.is_dir():
        return False
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return False
    lock.release()
    return True


def is_held(folder: Path) -> bool:
    """Tell whether a live run holds this folder, by looking only: no file is made or opened for writing."""
    import fcntl  # noqa: PLC0415 - tables are read on systems without it too

    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False

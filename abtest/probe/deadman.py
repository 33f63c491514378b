"""The dead-man switch: when whoever started the probe is gone, the probe and all its processes go too."""

from __future__ import annotations

import os
import signal
import threading
from typing import Callable

ORPHANED = 71  # exit code when stdin ended
released = threading.Event()  # set before anything is killed: the main thread may end first
SWEEPS = 3  # a child may start another one while the sweep runs


def arm(last_act: Callable[[], None]) -> None:
    """Watch stdin from a thread; children get an empty stdin of their own.

    Args:
        last_act: called before the end, after the children are dead.
    """
    switch = os.dup(0)  # not inheritable: no child can read from it or hold it
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    threading.Thread(target=_wait, args=(switch, last_act), name="dead-man", daemon=True).start()


def _wait(switch: int, last_act: Callable[[], None]) -> None:
    try:
        while os.read(switch, 4096):
            pass
    except OSError:
        pass  # a broken switch is a released one
    released.set()
    try:
        kill_children()
        last_act()
    finally:
        os._exit(ORPHANED)


def kill_children() -> None:
    """Kill every descendant, and all others in our group or session where this process leads it."""
    for _ in range(SWEEPS):
        victims = _victims()
        if not victims:
            return
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:  # noqa: PERF203 - a handful of processes
                continue  # it is gone already


def _victims() -> set[int]:
    me = os.getpid()
    table = _processes()
    victims = {pid for pid, (_, group, session) in table.items() if me in (group, session)}
    family = {me}
    while True:
        more = {pid for pid, (parent, _, _) in table.items() if parent in family} - family
        if not more:
            return (victims | family) - {me}
        family |= more


def _processes() -> dict[int, tuple[int, int, int]]:
    """Read pid -> (parent, group, session) of every process that is not a zombie."""
    found: dict[int, tuple[int, int, int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = (
                    file.read().rpartition(")")[2].split()
                )  # the command's name may hold anything
        except OSError:
            continue
        if fields[0] != "Z":
            found[int(name)] = (int(fields[1]), int(fields[2]), int(fields[3]))
    return found

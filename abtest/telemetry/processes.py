"""Whose process is it: a trial's, or somebody else's."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PROBE = b"abtest.probe"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """One line of `/proc/<pid>/stat`.

    Args:
        cpu_s: user and system time of all its threads.
        born_ticks: start time, clock ticks after boot.
    """

    pid: int
    parent: int
    cpu_s: float
    born_ticks: int


def parse_stat(text: str) -> Process:
    """Read `/proc/<pid>/stat`; the name in brackets may hold anything, brackets too.

    Raises:
        ValueError: it is not such a line.

    >>> parse_stat("7 (a) b) S 3 7 7 0 -1 0 0 0 0 0 100 50 0 0 20 0 1 0 900 0").parent
    3
    """
    head, closing, tail = text.rpartition(")")
    fields = tail.split()
    if not closing or len(fields) < 20:  # noqa: PLR2004 - the start time is the twentieth field behind the name
        raise ValueError(f"not a stat line: {text[:60]!r}")
    cpu_ticks = int(fields[11]) + int(fields[12])
    return Process(int(head.split()[0]), int(fields[1]), cpu_ticks / TICKS_PER_S, int(fields[19]))


def processes(proc: Path) -> dict[int, Process]:
    """Read every process; those that end meanwhile are left out."""
    found = {}
    for folder in proc.iterdir():
        if folder.name.isdigit():
            try:
                one = parse_stat((folder / "stat").read_text(encoding="utf-8", errors="replace"))
            except (OSError, ValueError):  # it ended between the listing and the reading
                continue
            found[one.pid] = one
    return found


def descendants(known: Mapping[int, Process], seeds: Iterable[int]) -> set[int]:
    """Collect the seeds and everything below them."""
    children: dict[int, list[int]] = {}
    for one in known.values():
        children.setdefault(one.parent, []).append(one.pid)
    found: set[int] = set()
    left = [pid for pid in seeds if pid in known]
    while left:
        pid = left.pop()
        if pid not in found:
            found.add(pid)
            left += children.get(pid, [])
    return found


class Owner:
    """Tells own processes from others': ours are this process, its children, and probes born since the trial began.

    A container's processes are children of the engine, not of this process; the probe is known by its name there.

    Args:
        proc: where procfs is mounted; tests hand in recorded trees.
    """

    def __init__(self, proc: Path = Path("/proc"), pid: int | None = None) -> None:
        self._proc = proc
        self._pid = os.getpid() if pid is None else pid
        self._since_ticks = 0
        self._probes: dict[tuple[int, int], bool] = {}
        self._known: dict[int, Process] = {}
        self._ours: set[int] = set()
        self.own_cpu_s = 0.0  # processor time of own processes so far, those that have ended too

    def trial_begins(self) -> None:
        """Count only probes that start from now on."""
        self.look()
        self._since_ticks = max((one.born_ticks for one in self._known.values()), default=0)

    def look(self) -> None:
        """Read the process table anew."""
        before, self._known = self._known, processes(self._proc)
        probes = [one.pid for one in self._known.values() if self._is_new_probe(one)]
        self._ours = descendants(self._known, [self._pid, *probes])
        for pid in self._ours:
            now, was = self._known[pid], before.get(pid)
            same = was is not None and was.born_ticks == now.born_ticks
            self.own_cpu_s += now.cpu_s - (was.cpu_s if was is not None and same else 0.0)

    def _is_new_probe(self, one: Process) -> bool:
        if one.born_ticks <= self._since_ticks:
            return False
        key = (one.pid, one.born_ticks)
        if not self._probes.get(
            key
        ):  # looked at again until it is one: a process changes its name by exec
            try:
                self._probes[key] = PROBE in (self._proc / str(one.pid) / "cmdline").read_bytes()
            except OSError:
                self._probes[key] = False
        return self._probes[key]

    def is_ours(self, pid: int) -> bool | None:
        """Tell whether a process is ours; None for one that this machine does not show."""
        return pid in self._ours if pid in self._known else None

    def cgroup(self, pid: int) -> str | None:
        try:
            text = (self._proc / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        return max(text.split(), key=len, default=None)

"""Files that the probe leaves behind: written whole or not at all, except for two that only grow."""

from __future__ import annotations

import json
import os
import time
from typing import Any


def write_json(folder: str, name: str, body: dict[str, Any]) -> None:
    """Write one JSON file atomically: temporary name, fsync, rename."""
    path = os.path.join(folder, name)
    temporary = os.path.join(folder, "." + name + ".part")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(body, file, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


class Marks:
    """Phase marks for whoever watches: one line each, appended to `progress.jsonl`."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "progress.jsonl")
        self._start_s = time.monotonic()
        self._phase_start_s = self._start_s
        self.phase: str | None = None
        self.phases_s: dict[str, float] = {}

    def enter(self, phase: str) -> None:
        """Begin a phase; the time since the last mark is booked on the one that ends."""
        now_s = time.monotonic()
        if self.phase is not None:
            spent_s = now_s - self._phase_start_s
            self.phases_s[self.phase] = self.phases_s.get(self.phase, 0.0) + spent_s
        self.phase = phase
        self._phase_start_s = now_s
        self._append({"phase": phase})

    def pair(self, number: int, total: int) -> None:
        """Tell how far the timed pairs have come."""
        self._append({"phase": self.phase, "pair": number, "of": total})

    def _append(self, mark: dict[str, Any]) -> None:
        mark["t_s"] = round(time.monotonic() - self._start_s, 6)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(mark) + "\n")


def redirect_output(folder: str) -> None:
    """Send everything that is printed here or in a child, by Python or not, into `engine.log`."""
    log = os.open(os.path.join(folder, "engine.log"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)

"""Files that the probe leaves behind: written whole or not at all, except for two that only grow."""

from __future__ import annotations

import json
import mmap
import os
import time
from typing import Any, Iterable

SHORTEST_SECRET = 4  # shorter values would blot out ordinary text; they are left out by name only


class Outbox:
    """The folder of one request; no secret value leaves through it.

    Args:
        secrets: values that must never be written.
    """

    def __init__(self, folder: str, secrets: Iterable[str] = ()) -> None:
        self.folder = folder
        usable = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        self._secrets = sorted(usable, key=len, reverse=True)

    def write_json(self, name: str, body: dict[str, Any]) -> None:
        """Write one JSON file atomically: temporary name, fsync, rename."""
        self._write(name, json.dumps(self._clean(body), sort_keys=True))

    def write_lines(self, name: str, bodies: list[dict[str, Any]]) -> None:
        """Write JSON lines, as atomically; no file where there are none."""
        if bodies:
            lines = (json.dumps(self._clean(body), sort_keys=True) for body in bodies)
            self._write(name, "".join(line + "\n" for line in lines))

    def _write(self, name: str, text: str) -> None:
        path = os.path.join(self.folder, name)
        temporary = os.path.join(self.folder, "." + name + ".part")
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)

    def redirect_output(self) -> None:
        """Send everything that is printed here or in a child, by Python or not, into `engine.log`."""
        log = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)

    def clean_log(self) -> None:
        """Blot secrets out of `engine.log`, in place and at the same length: children may still append to it."""
        if not self._secrets or not os.path.getsize(self._log):
            return
        with open(self._log, "r+b") as file, mmap.mmap(file.fileno(), 0) as text:
            for secret in self._secrets:
                data = secret.encode("utf-8", "surrogateescape")
                place = text.find(data)
                while place >= 0:
                    text[place : place + len(data)] = b"*" * len(data)
                    place = text.find(data, place + len(data))

    @property
    def _log(self) -> str:
        return os.path.join(self.folder, "engine.log")

    def _clean(self, value: Any) -> Any:  # noqa: ANN401 - anything that JSON holds
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, "<hidden>")
            return value
        if isinstance(value, dict):
            return {self._clean(key): self._clean(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._clean(inner) for inner in value]
        return value


class Marks:
    """Phase marks for whoever watches: one line each, appended to `progress.jsonl`."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "progress.jsonl")
        self._start_s = time.monotonic()
        self._phase_start_s = self._start_s
        self.phase: str | None = None
        self.phases_s: dict[str, float] = {}

    def enter(self, phase: str, *, announce: bool = True) -> None:
        """Begin a phase; the time since the last mark is booked on the one that ends.

        Args:
            announce: False for a phase that interrupts another, so that watchers see phases in one order only.
        """
        now_s = time.monotonic()
        if self.phase is not None:
            spent_s = now_s - self._phase_start_s
            self.phases_s[self.phase] = self.phases_s.get(self.phase, 0.0) + spent_s
        self.phase = phase
        self._phase_start_s = now_s
        if announce:
            self._append({"phase": phase})

    def pair(self, number: int, total: int) -> None:
        """Tell how far the timed pairs have come."""
        self._append({"phase": self.phase, "pair": number, "of": total})

    def _append(self, mark: dict[str, Any]) -> None:
        mark["t_s"] = round(time.monotonic() - self._start_s, 6)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(mark) + "\n")

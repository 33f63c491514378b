"""The folder that the probe writes to, as the runtimes read it."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from abtest.errors import InfrastructureError, UnprovedError
from abtest.model.sandbox import Exit

KILLED = (137, -9)  # as a container engine and as a process tell SIGKILL
TAIL_BYTES = 4000
NO_ROOM_BYTES = 65536  # a trial leaves more than this


class Outbox:
    """One trial's folder on the host."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._offset = 0
        self._phase: str | None = None
        self._marks = 0

    def progress(self) -> tuple[str | None, int]:
        """Read new phase marks; returns the latest phase and how many marks there are."""
        try:
            with self._own("progress.jsonl").open("rb") as file:
                file.seek(self._offset)
                new = file.read()
        except OSError:
            return None, 0
        whole, _, _ = new.rpartition(b"\n")
        if whole:
            self._offset += len(whole) + 1
            lines = whole.split(b"\n")
            self._marks += len(lines)
            phases = [phase for line in lines if (phase := _phase(line)) is not None]
            self._phase = phases[-1] if phases else self._phase
        return self._phase, self._marks

    def _own(self, name: str) -> Path:
        """Name a file of the sandbox; a link is refused: it could bring a file of the host into a record."""
        path = self.folder / name
        if path.is_symlink():
            raise OSError(f"{path} is a link")
        return path

    def report(self, name: str) -> dict[str, Any] | None:
        """Read the probe's answer; None where it wrote none, or none that can be read."""
        try:
            body = json.loads(self._own(name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return body if isinstance(body, dict) else None

    def log_tail(self) -> str:
        """Return the last words of everything that was printed in the sandbox."""
        try:
            with self._own("engine.log").open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
                return file.read().decode("utf-8", errors="replace")
        except OSError:
            return ""

    def explained(self, ended: Exit) -> Exit:
        """Name a full disk where the probe could not even say so."""
        if ended.code == 0 or ended.cause is not None:
            return ended
        try:
            room = os.statvfs(self.folder)
        except OSError:
            return ended
        if room.f_bavail * room.f_frsize >= NO_ROOM_BYTES:
            return ended
        return replace(ended, cause="disk-full: no space is left where the results are")

    def files(self) -> dict[str, str]:
        """Hash the sidecar files: name -> sha256; a hidden one was not finished, and is swept."""
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.folder.iterdir())
            if path.is_file() and not path.is_symlink() and not path.name.startswith(".")
        }


def _phase(line: bytes) -> str | None:
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return None
    phase = body.get("phase") if isinstance(body, dict) else None
    return phase if isinstance(phase, str) else None


def survey_answer(outbox: Outbox, log: str, ended: Exit) -> dict[str, Any]:
    """Read a survey's answer.

    Raises:
        UnprovedError: the probe says that a target is missing.
        InfrastructureError: there is no answer, or it says that the image does not work.
    """
    body = outbox.report("survey.json")
    if body is None and (cause := outbox.explained(ended).cause) is not None:
        raise InfrastructureError(
            f"the image's survey ended without an answer: {cause}",
            remedy="Free some space, then use --resume.",
        )
    if body is None and ended.code in KILLED:
        raise InfrastructureError(
            f"the image's survey was killed (exit code {ended.code}), for memory or by somebody",
            remedy="Look at the system's log, then use --resume.",
        )
    if body is None:
        raise InfrastructureError(
            f"the image's survey ended without an answer; its last words: {log.strip()[-600:] or 'none'}",
            remedy="Check that the interpreter (engine.python) exists in the image and starts.",
        )
    error = body.get("error")
    if error is None:
        return body
    if error.get("kind") == "invalid":
        raise UnprovedError(
            str(error.get("message")), remedy="Check `target` and `engine.pythonpath`."
        )
    raise InfrastructureError(
        f"{error.get('name')}: {error.get('message')}", remedy="Run `abtest doctor`."
    )

"""The folder that the probe writes to, as the runtimes read it."""

import hashlib
import json
from pathlib import Path
from typing import Any

from abtest.errors import InfrastructureError, UnprovedError

TAIL_BYTES = 4000


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
        except (OSError, ValueError):
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

    def files(self) -> dict[str, str]:
        """Hash the sidecar files: name -> sha256."""
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.folder.iterdir())
            if path.is_file() and not path.is_symlink()
        }


def _phase(line: bytes) -> str | None:
    try:
        body = json.loads(line)
    except ValueError:
        return None
    phase = body.get("phase") if isinstance(body, dict) else None
    return phase if isinstance(phase, str) else None


def survey_answer(outbox: Outbox, log: str) -> dict[str, Any]:
    """Read a survey's answer.

    Raises:
        UnprovedError: the probe says that a target is missing.
        InfrastructureError: there is no answer, or it says that the image does not work.
    """
    body = outbox.report("survey.json")
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

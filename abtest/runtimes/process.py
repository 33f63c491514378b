"""The process runtime: the same contract without containers; every table says `isolation: process`."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from abtest.errors import InfrastructureError, UsageError
from abtest.model.sandbox import (
    Collected,
    Exit,
    ImageFacts,
    ImageRequest,
    SandboxRequest,
    SandboxState,
)
from abtest.runtimes import caches, facts, mirror, probe_site, staged
from abtest.runtimes.outbox import Outbox, survey_answer

SURVEY_S = 120
BASE_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}


class ProcessRuntime:
    """Fresh processes over a fresh mirror of the target's package; the installed package is never touched."""

    isolation = "process"

    def __init__(self, work_dir: Path) -> None:
        """Stage the probe below `work_dir`, a private folder of this run."""
        self._work_dir = work_dir.resolve()
        self._site = probe_site.stage(self._work_dir)
        self._caches = (
            self._work_dir.parent / "caches"
        )  # the work folder goes when the run ends, these stay

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._site, ignore_errors=True)

    def survey(self, request: ImageRequest) -> ImageFacts:
        if request.kind != "host":
            raise UsageError(
                f"image {request.name!r} needs a container engine",
                remedy="Use `image: host`, or `--runtime docker`.",
            )
        python = _from_here(request.python or sys.executable)
        out = _fresh(self._work_dir / "survey")
        body = {
            "schema": 1,
            "mode": "survey",
            "out": str(out),
            "targets": list(request.targets),
            "nonce": None,
        }
        path = _write_request(out.parent / "survey.json", body)
        environment = _environment(path, out, [self._site, *request.pythonpath])
        try:
            done = subprocess.run(
                [python, "-m", "abtest.probe"],
                cwd=out,  # `-m` puts the working folder first on the import path
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SURVEY_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InfrastructureError(
                f"the interpreter {python} does not start: {error}",
                remedy="Name another with engine.python.",
            ) from error
        outbox = Outbox(out)
        return facts.image_facts(
            "host", "host", None, survey_answer(outbox, outbox.log_tail(), Exit(done.returncode))
        )

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator["ProcessSandbox"]:
        staged.check(request.swaps)
        kept = caches.keep(self._caches, request.cache)
        # compilers put the paths of sources into their keys: with a kept cache these must not change
        folder = _fresh(self._work_dir / (request.trial if kept is None else f"kept-{kept.key}"))
        try:
            package = mirror.make(folder / "mirror", request.swaps)
            path: list[str | Path] = [self._site, package, *request.pythonpath]
            sandbox = ProcessSandbox(request, folder, path, kept)
            try:
                yield sandbox
            finally:
                sandbox.end()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class ProcessSandbox:
    """One process group in a folder of its own."""

    def __init__(
        self,
        request: SandboxRequest,
        folder: Path,
        pythonpath: list[str | Path],
        kept: caches.Kept | None,
    ) -> None:
        self._request = request
        self._kept = kept
        self._folder = folder
        self._pythonpath = pythonpath
        self._outbox = Outbox(Path(request.out_dir))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        body = {**self._request.probe, "out": self._request.out_dir}
        path = _write_request(self._folder / "request.json", body)
        environment = {
            **_environment(path, self._folder, self._pythonpath, self._kept),
            **self._request.env,
            **self._request.secrets,
        }
        command = [self._request.image.python, "-m", "abtest.probe"]
        try:
            with (self._folder / "start.log").open("wb") as log:
                self._process = subprocess.Popen(
                    command,
                    env=environment,
                    cwd=self._folder,
                    stdin=subprocess.PIPE,  # held open: its end tells the probe that we are gone
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            raise InfrastructureError(
                f"{command[0]} does not start: {error}", remedy="Check engine.python."
            ) from error

    def poll(self) -> SandboxState:
        phase, marks = self._outbox.progress()
        code = None if self._process is None else self._process.poll()
        if code is None:
            return SandboxState(phase, marks, None)
        ended = Exit(code if code >= 0 else 128 - code)
        return SandboxState(phase, marks, self._outbox.explained(ended))

    def collect(self) -> Collected:
        early = self._folder / "start.log"
        log = self._outbox.log_tail() or (
            early.read_text(errors="replace") if early.exists() else ""
        )
        paths = {
            swap.target: str(self._folder / "mirror" / swap.target) for swap in self._request.swaps
        }
        return Collected(
            self._outbox.report("trial.json"),
            log,
            None,
            paths,
            self._outbox.files(),
            caches={} if self._kept is None else self._kept.facts(),
        )

    def end(self) -> None:
        """Kill the whole process group and wait for its leader; may be called at any point."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):  # nobody of the group is left
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _write_request(path: Path, body: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def _from_here(python: str) -> str:
    """Keep a relative path what it is here, also for a child that starts in another folder."""
    return str(Path.cwd() / python) if "/" in python else python


def _environment(
    request: Path, folder: Path, pythonpath: list[str | Path], kept: caches.Kept | None = None
) -> dict[str, str]:
    """Build a sandbox's whole environment: nothing of the caller's comes in."""
    warm = folder if kept is None else kept.folder
    home, tmp = warm / "home", warm / "tmp"
    for new in (home, tmp):
        new.mkdir(exist_ok=True)
    return {
        **BASE_ENVIRONMENT,
        "HOME": str(home),
        "TMPDIR": str(tmp),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "PYTHONPATH": os.pathsep.join(map(str, pythonpath)),
        "ABTEST_REQUEST": str(request),
        "ABTEST_SANDBOX": str(folder),
    }

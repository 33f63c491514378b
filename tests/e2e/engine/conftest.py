"""A container engine of the tests' own: on its own socket and data root, to be restarted and filled at will."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

ROOM = "96m"


class OwnEngine:
    """One `dockerd` on a small memory file system.

    Args:
        folder: short, since a socket's path must be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"unix://{folder}/d.sock"
        self.data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            "dockerd",
            "-H",
            self.url,
            "--data-root",
            str(self.data),
            "--exec-root",
            f"{self.folder}/exec",
        ]
        command += [
            "--pidfile",
            f"{self.folder}/pid",
            "--bridge",
            "none",
            "--iptables=false",
            "--shutdown-timeout",
            "2",
        ]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True
            )
        for _ in range(300):
            with contextlib.suppress(docker.errors.DockerException):
                docker.DockerClient(self.url, timeout=5).ping()
                return
            time.sleep(0.1)
        raise RuntimeError((self.folder / "log").read_text()[-2000:])

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def own_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnEngine]:
    """A running engine, which `DOCKER_HOST` names."""
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("an engine of one's own needs root and dockerd")
    folder = Path(tempfile.mkdtemp(prefix="abe-"))
    engine = OwnEngine(folder)
    engine.data.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "abtest-test", str(engine.data)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("file systems cannot be mounted here")
    monkeypatch.setenv("DOCKER_HOST", engine.url)
    try:
        engine.start()
        yield engine
    finally:
        engine.stop()
        subprocess.run(["umount", "-R", "-l", str(engine.data)], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)

"""A few seeded torture runs; the long session is `make torture`."""

import subprocess
import sys
from pathlib import Path

import pytest


def torture(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.torture", "--seed", "7", *arguments]
    return subprocess.run(
        command, cwd=repository, capture_output=True, text=True, timeout=240, check=False
    )


@pytest.mark.timeout(250)
def test_a_few_runs_without_containers_recover_or_are_refused_rightly(repository: Path) -> None:
    done = torture(repository, "--runs", "4", "--runtimes", "process,simulated")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| **all** | 4 |" in done.stdout


@pytest.mark.docker
@pytest.mark.timeout(250)
def test_a_run_in_containers_recovers_or_is_refused_rightly(repository: Path) -> None:
    done = torture(repository, "--runs", "2", "--runtimes", "docker", "--kind", "container")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 docker" in done.stdout

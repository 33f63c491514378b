"""The dead-man switch: nothing of ours outlives whoever started it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PATIENCE_S = 5.0


def until(true: Callable[[], bool]) -> bool:
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        if true():
            return True
        time.sleep(0.02)
    return true()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.parametrize("leads", [True, False], ids=["session leader", "in our session"])
def test_when_stdin_ends_the_probe_and_its_workers_end(
    tmp_path: Path, environment: dict[str, str], trial_request: dict[str, Any], *, leads: bool
) -> None:
    trial_request["engine"]["args"] = {"fault": "hangs"}
    path = tmp_path / "request.json"
    path.write_text(json.dumps(trial_request))
    progress = Path(trial_request["out"]) / "progress.jsonl"
    with subprocess.Popen(
        [sys.executable, "-m", "abtest.probe"],
        env={**environment, "ABTEST_REQUEST": str(path), "TOKEN": "a-secret-value"},
        stdin=subprocess.PIPE,
        start_new_session=leads,
    ) as process:
        assert process.stdin is not None
        try:
            assert until(lambda: progress.exists() and "warmup" in progress.read_text())
            workers = children(process.pid)
            assert len(workers) >= 2
            assert process.poll() is None  # it lives as long as stdin is open
            process.stdin.close()
            assert process.wait(timeout=PATIENCE_S) == 71
            assert until(lambda: not any(map(alive, workers)))
        finally:
            for pid in [process.pid, *children(process.pid)]:
                if alive(pid):
                    os.kill(pid, signal.SIGKILL)


def test_without_the_switch_an_empty_stdin_ends_nothing(
    tmp_path: Path, environment: dict[str, str], trial_request: dict[str, Any]
) -> None:
    trial_request["die_with_stdin"] = False
    path = tmp_path / "request.json"
    path.write_text(json.dumps(trial_request))
    done = subprocess.run(
        [sys.executable, "-m", "abtest.probe"],
        env={**environment, "ABTEST_REQUEST": str(path)},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0
    assert json.loads((Path(trial_request["out"]) / "trial.json").read_text())["ok"] is True

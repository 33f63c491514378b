"""The faults: what each does at its instant, how the command may end, and what `--resume` must then do."""

import os
import random
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.torture import files, mounts, traces
from tools.torture.lab import Lab, plant, wait_until

Process = subprocess.Popen[bytes]
Ends = Mapping[int, str]  # exit code -> a word that its message must hold, or one of several
DONE: Ends = {0: ""}
ALL = ("docker", "process", "simulated")
REAL = ("docker", "process")
KILLED = -signal.SIGKILL


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of trouble.

    Args:
        strike: does the harm; the orchestrator runs, or has just ended.
        ends: how the orchestrator may end after it.
        needs: what must be there before the run: "mounts", "tmpfs", "clock", "image" or "engine".
        retries: whether the experiment may allow a second attempt.
    """

    name: str
    where: tuple[str, ...]
    strike: Callable[[Lab, Process, random.Random], object]
    ends: Ends
    needs: str = ""
    retries: bool = False


def _signal(number: int) -> Callable[[Lab, Process, random.Random], None]:
    def strike(_lab: Lab, process: Process, _random: random.Random) -> None:
        if process.poll() is None:
            process.send_signal(number)

    return strike


def _sought(find: Callable[[], list[Any]], process: Process) -> list[Any]:
    """Look until something is there: between two trials there is nothing to strike."""
    wait_until(lambda: bool(find()) or process.poll() is not None, 10)
    return find()


def _kill_one(find: Callable[[Lab], list[int]]) -> Callable[[Lab, Process, random.Random], None]:
    def strike(lab: Lab, process: Process, chance: random.Random) -> None:
        victims = _sought(lambda: find(lab), process)
        for victim in victims and [chance.choice(victims)]:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue

    return strike


def _remove_container(lab: Lab, process: Process, _chance: random.Random) -> None:
    for container in _sought(lambda: traces.containers(lab), process):
        subprocess.run(["docker", "rm", "-f", container.id], capture_output=True, check=False)


def _dead(strike: Callable[[Lab, random.Random], Any]) -> Callable[..., None]:
    """Do something to the folder of a run that was killed first."""

    def struck(lab: Lab, process: Process, chance: random.Random) -> None:
        if process.poll() is None:
            process.kill()
            process.wait()
        strike(lab, chance)

    return struck


def _live(strike: Callable[[Lab, random.Random], Any]) -> Callable[..., None]:
    return lambda lab, _process, chance: strike(lab, chance)


def _edit_kernel(lab: Lab, _chance: random.Random) -> None:
    plant(lab.folder / "fast.py", "use_splitkv = ", "use_splitkv =  ")


def _edit_experiment(lab: Lab, chance: random.Random) -> None:
    old, new = chance.choice(
        [
            ("pairs: 2", "pairs: 3"),
            ("batches: [1]", "batches: [1, 2]"),
            ("tokens: [2, 22]", "tokens: [2, 24]"),
            ("baseline: stock", "baseline: fast"),
        ]
    )
    plant(lab.folder / "experiment.yaml", old, new)


def _second(lab: Lab, _process: Process, _chance: random.Random) -> None:
    if (run := lab.run) is not None:
        lab.end(lab.start("--resume", str(run)))


def _stop_clock(lab: Lab, _chance: random.Random) -> None:
    (lab.root / "clock-back").touch()


def _move_tag(lab: Lab, _chance: random.Random) -> None:
    tag, other = lab.environment["TORTURE_TAG"], lab.environment["TORTURE_OTHER"]
    subprocess.run(["docker", "tag", other, tag], check=True, capture_output=True)


def _restart(lab: Lab, _chance: random.Random) -> None:
    lab.engine.stop()
    lab.engine.start()


FAULTS = (
    Fault("orchestrator killed (SIGKILL)", ALL, _signal(signal.SIGKILL), {KILLED: ""}),
    Fault("orchestrator ended (SIGTERM)", ALL, _signal(signal.SIGTERM), {130: "interrupted"}),
    Fault("probe killed", REAL, _kill_one(traces.probes), {4: "killed"}, retries=True),
    Fault("worker killed", REAL, _kill_one(traces.workers), {4: "rank 0|engine-"}, retries=True),
    Fault("container removed", ("docker",), _remove_container, {4: "vanished"}, retries=True),
    Fault(
        "engine restarted",
        ("docker",),
        _live(_restart),
        {4: "engine"},
        needs="engine",
        retries=True,
    ),
    Fault("disk full", ALL, _live(mounts.fill), {4: "pace"}, needs="tmpfs"),
    Fault("results read-only", ALL, _live(mounts.protect), {4: "ead-only"}, needs="mounts"),
    Fault("ledger truncated, run dead", ALL, _dead(files.truncate), {KILLED: ""}),
    Fault("ledger truncated, run alive", ALL, _live(files.truncate), {5: ""}),
    Fault("alien bytes in the ledger, run dead", ALL, _dead(files.scribble), {KILLED: ""}),
    Fault("alien bytes in the ledger, run alive", ALL, _live(files.scribble), {5: ""}),
    Fault("sidecar edited", REAL, _dead(files.edit_sidecar), {KILLED: ""}),
    Fault("clock set back", ALL, _live(_stop_clock), DONE, needs="clock"),
    Fault("image tag moved", ("docker",), _live(_move_tag), DONE, needs="image"),
    Fault("kernel file edited", ALL, _live(_edit_kernel), DONE),
    Fault("experiment edited", ALL, _live(_edit_experiment), DONE),
    Fault("lock left by a dead process", ALL, _dead(files.leave_lock), {KILLED: ""}),
    Fault("two orchestrators at once", ALL, _second, DONE),
)

"""The exact call that creates a container: a pure function, so that tests can read it without an engine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.types import DeviceRequest, LogConfig, Mount, Ulimit

from abtest.model.sandbox import ContainerOptions, Swap
from abtest.runtimes import caches
from abtest.runtimes.docker.volumes import Bind

OUT = "/abtest/out"
REQUEST = "/abtest/request.json"
SITE = "/abtest/site"
HOME = "/abtest/home"
NONCE = "/abtest/nonce"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TMPFS = ("/tmp", HOME)
NAME_LENGTH = 120


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides what a container is.

    Args:
        session: one use of the runtime; the janitor removes what bears its session, and nothing else.
        results: absolute folder of the run, kept as a label so that a later start can tell whose this is.
        env: variables without those that every sandbox gets.
        search: the PATH to set; None keeps the image's own.
        volumes: places where the image itself has the engine make an empty volume.
        moved: the name that the image was asked for by now leads elsewhere.
        copied: files that are copied in before the start; empty where they are bound.
    """

    run: str
    trial: str
    session: str
    results: str
    image: str
    python: str
    user: str
    binds: tuple[Bind, ...]
    pythonpath: tuple[str, ...]
    env: Mapping[str, str]
    options: ContainerOptions
    search: str | None = PATH
    volumes: tuple[str, ...] = ()
    copied: tuple[Swap, ...] = ()
    writable: bool = False
    moved: bool = False


def kept_binds(folder: Path) -> tuple[Bind, ...]:
    """Mount an arm's kept home and temporary folder, where a container otherwise has fresh ones in memory."""
    return (
        Bind(str(folder / caches.HOME), HOME, read_only=False),
        Bind(str(folder / caches.TMP), "/tmp", read_only=False),
    )


def name_of(run: str, trial: str) -> str:
    """Name the container of a trial; names are unique as long as runs and trials are."""
    return f"abtest-{run}-{trial}"[:NAME_LENGTH]


def arguments(plan: Plan) -> dict[str, Any]:
    """Build the create call's arguments.

    The container gets no network, no privileges and a read-only root unless asked otherwise. The probe is
    process 1: its end ends everything in the container, so no other init is needed.
    """
    options = plan.options
    made: dict[str, Any] = {
        "image": plan.image,
        "name": name_of(plan.run, plan.trial),
        "entrypoint": list(options.entrypoint or ()) or [plan.python],
        "command": ["-m", "abtest.probe"]
        if options.entrypoint is None
        else [plan.python, "-m", "abtest.probe"],
        "labels": {
            "abtest.owner": "abtest",
            "abtest.run": plan.run,
            "abtest.trial": plan.trial,
            "abtest.session": plan.session,
            "abtest.results": plan.results,
        },
        "user": options.user or plan.user,
        "working_dir": HOME,
        "environment": {**_environment(plan), **plan.env},
        "mounts": [
            Mount(bind.target, bind.source, type="bind", read_only=bind.read_only)
            for bind in plan.binds
        ],
        "tmpfs": dict.fromkeys(
            (place for place in TMPFS if place not in {bind.target for bind in plan.binds}),
            "rw,exec,nosuid,nodev,mode=1777",
        ),
        "read_only": not plan.writable,
        "network_mode": options.network,
        "ipc_mode": options.ipc,
        "shm_size": options.shm_size_bytes,
        "cap_drop": ["ALL"],
        "cap_add": list(options.cap_add),
        "security_opt": ["no-new-privileges", *options.security_opt],
        "group_add": list(options.group_add),
        "devices": list(options.devices),
        "ulimits": [
            Ulimit(name=name, soft=value, hard=value) for name, value in options.ulimits.items()
        ],
        "healthcheck": {"test": ["NONE"]},  # an image's own would run beside the measurement
        "stdin_open": True,
        "detach": False,
        "log_config": LogConfig(type="json-file", config={"max-size": "1m"}),
    }
    if options.gpus:
        which = {"count": -1} if options.gpus == ("all",) else {"device_ids": list(options.gpus)}
        made["device_requests"] = [DeviceRequest(**which, capabilities=[["gpu"]])]
    if options.cpuset_cpus:
        made["cpuset_cpus"] = options.cpuset_cpus
    if options.cpuset_mems:
        made["cpuset_mems"] = options.cpuset_mems
    return made


def _environment(plan: Plan) -> dict[str, str]:
    return {
        **({} if plan.search is None else {"PATH": plan.search, "LANG": "C.UTF-8"}),
        "HOME": HOME,
        "TMPDIR": "/tmp",
        "XDG_CACHE_HOME": f"{HOME}/.cache",
        "PYTHONPATH": os.pathsep.join((SITE, *plan.pythonpath)),
        "ABTEST_REQUEST": REQUEST,
    }

"""The exact call that creates a container: a pure function, so that tests can read it without an engine."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docker.types import DeviceRequest, LogConfig, Mount, Ulimit

from abtest.errors import UsageError
from abtest.model.sandbox import ContainerOptions

OUT = "/abtest/out"
REQUEST = "/abtest/request.json"
SITE = "/abtest/site"
HOME = "/abtest/home"
NONCE = "/abtest/nonce"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SOCKETS = ("/var/run/docker.sock", "/run/docker.sock", "/run/podman", "/var/run/podman")
NAME_LENGTH = 120


@dataclass(frozen=True, slots=True)
class Bind:
    """One mount: what of the host is shown where."""

    source: str
    target: str
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides what a container is.

    Args:
        session: one use of the runtime; the janitor removes what bears its session, and nothing else.
        results: absolute folder of the run, kept as a label so that a later start can tell whose this is.
        env: variables without those that every sandbox gets.
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
        "tmpfs": {"/tmp": "rw,exec,nosuid,nodev,mode=1777", HOME: "rw,exec,nosuid,nodev,mode=1777"},
        "read_only": True,
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
        "stdin_open": True,
        "detach": False,
        "log_config": LogConfig(type="json-file", config={"max-size": "1m"}),
    }
    if options.gpus:
        made["device_requests"] = [
            DeviceRequest(device_ids=list(options.gpus), capabilities=[["gpu"]])
        ]
    if options.cpuset_cpus:
        made["cpuset_cpus"] = options.cpuset_cpus
    if options.cpuset_mems:
        made["cpuset_mems"] = options.cpuset_mems
    return made


def _environment(plan: Plan) -> dict[str, str]:
    return {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "HOME": HOME,
        "TMPDIR": "/tmp",
        "XDG_CACHE_HOME": f"{HOME}/.cache",
        "PYTHONPATH": os.pathsep.join((SITE, *plan.pythonpath)),
        "ABTEST_REQUEST": REQUEST,
    }


def volume_binds(volumes: Sequence[str], *, allow_host_access: bool) -> tuple[Bind, ...]:
    """Read `source:target[:ro|:rw]`, and refuse what would hand over the host.

    Raises:
        UsageError: the form is wrong, or the volume is `/`, an engine's socket or a home folder.
    """
    binds = []
    for text in volumes:
        parts = text.split(":")
        if (
            len(parts) not in (2, 3)
            or parts[-1] in ("", "/")
            or not all(part.startswith("/") for part in parts[:2])
        ):
            raise UsageError(
                f"container.volumes: {text!r} is not a volume",
                remedy="Write /source:/target or /source:/target:ro.",
            )
        if len(parts) == 3 and parts[2] not in ("ro", "rw"):  # noqa: PLR2004 - the mode is the third part
            raise UsageError(
                f"container.volumes: {text!r}: mode {parts[2]!r}", remedy="Use ro or rw."
            )
        source = os.path.realpath(parts[0])
        if not allow_host_access and hands_over(source):
            raise UsageError(
                f"container.volumes: {text!r} would hand over the host ({source})",
                remedy="Bind a narrower folder, or give --allow-host-access.",
            )
        binds.append(Bind(source, os.path.normpath(parts[1]), read_only=parts[-1] != "rw"))
    return tuple(binds)


def hands_over(source: str) -> bool:
    """Tell whether a path is, or holds, the root, an engine's socket or a home folder."""
    private = {"/", "/root", "/home", "/run", "/var", "/var/run", "/proc", "/sys", "/etc", *SOCKETS}
    private |= {os.path.realpath(path) for path in private}
    parent, _, _ = source.rpartition("/")
    return source in private or parent == "/home" or source == os.path.expanduser("~")  # noqa: PTH111 - beside realpath

"""Devices of a container: the groups that own their nodes, by number, and what no trial needs."""

import grp
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from abtest.errors import InfrastructureError, UsageError
from abtest.model.sandbox import ContainerOptions

OWNING_THE_HOST = frozenset(
    {"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO", "SYS_BOOT", "DAC_READ_SEARCH", "MKNOD"}
)
MEMORY = ("/dev/mem", "/dev/kmem", "/dev/port")


@dataclass(frozen=True, slots=True)
class Node:
    """What the host says of a device node."""

    gid: int
    is_block: bool


def nodes_on_this_machine(path: str) -> tuple[Node, ...]:
    """Look at a device node, or at all nodes of a folder such as /dev/dri.

    Raises:
        InfrastructureError: there is no such device here.
    """
    if not os.path.exists(path):  # noqa: PTH110 - a text from the experiment
        raise InfrastructureError(
            f"container.devices: {path} is not on this machine",
            remedy="Load the card's driver, or remove the device.",
        )
    files = sorted(Path(path).rglob("*")) if os.path.isdir(path) else [Path(path)]  # noqa: PTH112 - the same
    found = (file.stat() for file in files if not file.is_dir())
    return tuple(Node(one.st_gid, stat.S_ISBLK(one.st_mode)) for one in found)


def group_on_this_machine(name: str) -> int:
    """Look a group up.

    Raises:
        UsageError: this machine has no such group.
    """
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError as error:
        raise UsageError(
            f"container.group_add: this machine has no group {name!r}",
            remedy="Give its number, or leave it out: the groups of the device nodes are added by themselves.",
        ) from error


def resolved(
    options: ContainerOptions,
    *,
    allow_host_access: bool,
    nodes: Callable[[str], Sequence[Node]] = nodes_on_this_machine,
    group: Callable[[str], int] = group_on_this_machine,
) -> ContainerOptions:
    """Turn group names into numbers, and add the groups that own the devices.

    An image's own /etc/group may give `render` another number than the host's node has; only numbers mean the
    same on both sides.

    Raises:
        UsageError: a group is unknown, or a device or capability would hand over the host.
        InfrastructureError: a device is not here.
    """
    if not allow_host_access:
        _refuse_capabilities(options.cap_add)
    groups = [name if name.isdigit() else str(group(name)) for name in options.group_add]
    for entry in options.devices:
        path = entry.partition(":")[0]
        found = nodes(path)
        if not allow_host_access and (path in MEMORY or any(node.is_block for node in found)):
            raise UsageError(
                f"container.devices: {path} would hand over the host's memory or disk",
                remedy="Name the accelerator's own nodes, or give --allow-host-access.",
            )
        groups += [str(node.gid) for node in found if node.gid != 0]
    return replace(options, group_add=tuple(dict.fromkeys(groups)))


def _refuse_capabilities(names: Iterable[str]) -> None:
    for name in names:
        if name.upper().removeprefix("CAP_") in OWNING_THE_HOST:
            raise UsageError(
                f"container.cap_add: {name} would hand over the host",
                remedy="Ask for a narrower capability, or give --allow-host-access.",
            )

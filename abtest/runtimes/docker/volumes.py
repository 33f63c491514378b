"""Mounts: what of the host is shown where, and what is never shown without a word from the user."""

import os
import pwd
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from abtest.errors import UsageError

FORM = "Write /source:/target or /source:/target:ro."
MODES = {"ro": True, "rw": False}
SYSTEM = (
    "/boot",
    "/home",
    "/root",
    "/dev",
    "/etc",
    "/proc",
    "/sys",
    "/var/lib/docker",
    "/var/lib/containerd",
)
SOCKETS = (
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
)
OURS = "/abtest"
FIRST_PERSON = 1000  # user ids from here on are people's; 65534 is nobody
NOBODY = 65534


@dataclass(frozen=True, slots=True)
class Bind:
    """One mount of a host path.

    Args:
        source: absolute host path, links resolved.
        target: absolute path in the container.
    """

    source: str
    target: str
    read_only: bool = True


def private_paths() -> frozenset[str]:
    """List paths that hand over the host to whoever gets them: home folders, sockets of engines, system folders."""
    homes = [
        entry.pw_dir
        for entry in pwd.getpwall()
        if entry.pw_uid == 0 or FIRST_PERSON <= entry.pw_uid < NOBODY
    ]
    mine = os.path.expanduser("~")  # noqa: PTH111 - texts, resolved below
    sockets = [*SOCKETS, f"/run/user/{os.getuid()}/docker.sock"]
    return frozenset(os.path.realpath(path) for path in ("/", *SYSTEM, *sockets, *homes, mine))


def hands_over(source: str, private: Iterable[str]) -> str | None:
    """Find a private path that a mount of `source` would show; None where there is none.

    >>> hands_over("/home", ["/home/ada"])
    '/home/ada'
    >>> hands_over("/home/ada/kernels", ["/", "/home/ada"])
    """
    if source.rpartition("/")[0] == "/home":  # a home folder, whoever lists its owner
        return source
    inside = source.rstrip("/") + "/"
    return next((path for path in sorted(private) if (path + "/").startswith(inside)), None)


def refuse(where: str, source: str, private: Iterable[str]) -> None:
    """Refuse a mount that would hand over the host.

    Raises:
        UsageError: names what it would show.
    """
    shown = hands_over(source, private)
    if shown is not None:
        raise UsageError(
            f"{where} would hand over {'the host' if shown == '/' else shown} to the container",
            remedy="Bind a narrower folder, or give --allow-host-access.",
        )


def _taken(target: str) -> bool:
    return target == OURS or target.startswith(f"{OURS}/") or target == "/tmp"


def parse(volumes: Sequence[str], private: Iterable[str]) -> tuple[Bind, ...]:
    """Read `source:target[:ro|:rw]`, read-only unless asked otherwise; links in a source are resolved before it is judged.

    Args:
        private: what must not be shown; empty where the user allowed host access.

    Raises:
        UsageError: the form is wrong, the source is missing, or it would hand over the host.
    """
    binds = []
    for text in volumes:
        where = f"container.volumes: {text!r}"
        source, colon, rest = text.partition(":")
        target, _, mode = rest.partition(":")
        if not colon or not source.startswith("/"):
            raise UsageError(
                f"{where} names no absolute folder of the host; a volume of the engine would pass from trial to trial",
                remedy=FORM,
            )
        if not target.startswith("/") or os.path.normpath(target) == "/":
            raise UsageError(f"{where} has no absolute target below /", remedy=FORM)
        if _taken(os.path.normpath(target)):
            raise UsageError(
                f"{where}: {target} is taken by the sandbox itself",
                remedy="Give it another target.",
            )
        if mode and mode not in MODES:
            raise UsageError(f"{where}: mode {mode!r} is neither ro nor rw", remedy=FORM)
        real = os.path.realpath(source)
        if not os.path.lexists(real):
            raise UsageError(f"{where}: {source} does not exist", remedy="Create it, or drop it.")
        refuse(where, real, private)
        binds.append(Bind(real, os.path.normpath(target), MODES.get(mode, True)))
    return tuple(binds)


def refuse_hidden(path: str, places: Iterable[str]) -> None:
    """Refuse a target that lies under a mount: what is copied into the image would not be seen.

    Raises:
        UsageError: names the mount.
    """
    for place in places:
        if path == place or path.startswith(f"{place.rstrip('/')}/"):
            raise UsageError(
                f"the target {path} lies in {place}, where a volume hides the image's own files",
                remedy="Drop that volume, or name the target where it is imported from.",
            )

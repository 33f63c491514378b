"""The host image: an empty root into which the host's own programs are bound, read-only. No pull, 0.3 s."""

import contextlib
import io
import json
import os
import pwd
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from docker.errors import ImageNotFound

from abtest.errors import InfrastructureError
from abtest.runtimes.docker.engine import Engine, patiently

TAG = "abtest-host:2"
FOLDERS = ("abtest", "dev", "etc", "proc", "root", "run", "sys", "tmp", "usr", "var", "var/tmp")
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
OF_ETC = (
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/os-release",
    "/etc/ssl/certs",
)


def ensure(engine: Engine) -> str:
    """Make the empty image if it is not there yet; returns its id."""
    found = _find(engine)
    if found is None:
        name, _, tag = TAG.partition(":")
        answer = engine.client.api.import_image_from_data(
            root_tar(), repository=name, tag=tag, changes=["LABEL abtest.image=host"]
        )
        made = json.loads(answer.strip().splitlines()[-1])["status"]
        engine.client.api.tag(made, name, tag)  # Podman leaves the tag out
        found = _find(engine)
    if found is None:
        raise InfrastructureError(
            f"the engine took the image {TAG} and does not have it",
            remedy="Look at the engine's log.",
        )
    return found


def _find(engine: Engine) -> str | None:
    with contextlib.suppress(ImageNotFound):
        found = patiently("look for the host image", lambda: engine.client.images.get(TAG))
        return str(found.id)
    return None


def root_tar() -> bytes:
    """Build the empty root: folders, and the host's links such as /lib -> usr/lib."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type = tarfile.DIRTYPE
            entry.mode = 0o1777 if name in ("tmp", "var/tmp") else 0o755
            tar.addfile(entry)
        for path in SYSTEM:
            if os.path.islink(path):  # noqa: PTH114 - beside readlink
                entry = tarfile.TarInfo(path.lstrip("/"))
                entry.type = tarfile.SYMTYPE
                entry.linkname = os.readlink(path)  # noqa: PTH115 - the text of the link, unresolved
                tar.addfile(entry)
    return buffer.getvalue()


def binds(python: str | None, pythonpath: Sequence[str]) -> tuple[str, ...]:
    """List the host paths that are shown read-only at the same place, none inside another."""
    wanted = [path for path in SYSTEM if os.path.isdir(path) and not os.path.islink(path)]  # noqa: PTH112, PTH114 - system paths
    wanted += [path for path in OF_ETC if os.path.exists(path)]  # noqa: PTH110 - the same
    wanted += [sys.base_prefix, sys.prefix, *pythonpath]
    if python is not None:
        wanted.append(str(Path(python).resolve().parent.parent))
    return without_nested(wanted)


def without_nested(paths: Sequence[str]) -> tuple[str, ...]:
    """Drop paths that lie inside another one."""
    kept: list[str] = []
    for path in sorted({os.path.normpath(path) for path in paths}):
        if not any(path == other or path.startswith(f"{other}/") for other in kept):
            kept.append(path)
    return tuple(kept)


def write_accounts(folder: Path, uid: int, gid: int) -> dict[str, str]:
    """Write a passwd and a group file that know root and the caller; returns host path by place."""
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = "caller"
    users = ["root:x:0:0:root:/abtest/home:/bin/sh"]
    groups = ["root:x:0:"]
    if uid != 0:
        users.append(f"{name}:x:{uid}:{gid}:{name}:/abtest/home:/bin/sh")
    if gid != 0:
        groups.append(f"{name}:x:{gid}:")
    (folder / "passwd").write_text("\n".join(users) + "\n", encoding="utf-8")
    (folder / "group").write_text("\n".join(groups) + "\n", encoding="utf-8")
    return {"/etc/passwd": str(folder / "passwd"), "/etc/group": str(folder / "group")}

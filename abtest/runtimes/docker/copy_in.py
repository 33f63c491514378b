"""The swap on images that are not the host's: files are copied into the created container, in every arm.

The original's owner and mode are kept, the time of change is now, and before the start the container must
differ from its image in exactly these files. (A mount of one file pins an inode, and can serve old content.)
"""

import io
import os
import stat
import tarfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abtest.errors import UnprovedError
from abtest.model.sandbox import Swap
from abtest.runtimes.docker.engine import patiently

MOUNT_POINTS = "/abtest"  # the engine makes the folders for our mounts when it copies


@dataclass(frozen=True, slots=True)
class Original:
    """What the image says of a file, beside its content."""

    mode: int
    uid: int
    gid: int


def original(container: Any, path: str) -> Original:  # noqa: ANN401 - the SDK's container
    """Read owner and mode of a file as the image has it."""
    stream, _ = patiently("read a file", lambda: container.get_archive(path))
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as tar:
        entry = tar.getmembers()[0]
    return Original(stat.S_IMODE(entry.mode), entry.uid, entry.gid)


def archive(files: Sequence[tuple[str, bytes, Original]], mtime_s: float) -> bytes:
    """Pack files by their absolute paths, with the owners and modes of those they replace."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, content, like in files:
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode, entry.mtime = len(content), like.mode, int(mtime_s)
            entry.uid, entry.gid = like.uid, like.gid
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def put(container: Any, swaps: Sequence[Swap], originals: dict[str, Original]) -> None:  # noqa: ANN401 - the SDK's container
    """Copy all staged files into a created container, in one call."""
    files = [
        (swap.real_path, Path(swap.staged).read_bytes(), originals[swap.real_path])
        for swap in swaps
    ]
    data = archive(files, time.time())
    patiently("copy files into a container", lambda: container.put_archive("/", data))


def check_changes(changed: Iterable[str], swaps: Sequence[Swap], mounts: Iterable[str]) -> None:
    """Prove that a container differs from its image in the swapped files and in nothing else.

    Args:
        changed: absolute paths that were added, changed or removed, folders among them.
        mounts: where something is mounted; the engine makes these places.

    Raises:
        UnprovedError: a file differs that must not, or a swapped one does not.
    """
    places = [*mounts, MOUNT_POINTS]
    leaves = _leaves(changed)
    wanted = {swap.real_path for swap in swaps}
    extra = sorted(
        path for path in leaves - wanted if not any(_within(path, place) for place in places)
    )
    missing = sorted(wanted - leaves)
    if extra or missing:
        what = f"{extra[0]} is changed as well" if extra else f"{missing[0]} is not changed"
        raise UnprovedError(
            f"the container does not differ from its image in just the swapped files: {what}"
            + (
                f" (and {len(extra) + len(missing) - 1} more)"
                if len(extra) + len(missing) > 1
                else ""
            ),
            remedy="Look at the engine's own settings; nothing but this tool may touch its containers.",
        )


def _leaves(paths: Iterable[str]) -> set[str]:
    """Drop folders that are only listed because something below them is."""
    found = set(paths)
    parents = {path.rpartition("/")[0] for path in found}
    while above := {path.rpartition("/")[0] for path in parents} - parents:
        parents |= above
    return found - parents


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/") or place.startswith(f"{path}/")


def changes(container: Any, upper: str | None) -> list[str]:  # noqa: ANN401 - the SDK's container
    """List what a container changed.

    Args:
        upper: folder of the container's own layer, where the storage driver has one. The engine answers the
            same question by walking the whole image; the layer says it at once, to who may read it.
    """
    if upper is not None and os.access(upper, os.R_OK | os.X_OK):
        return list(_layer(upper))
    return [str(one["Path"]) for one in patiently("compare a container", container.diff) or ()]


def _layer(upper: str) -> Iterable[str]:
    """Walk one overlay layer; a removed file is a character device there, and so is listed too."""
    for folder, names, files in os.walk(upper):
        for name in (*names, *files):
            yield "/" + os.path.relpath(os.path.join(folder, name), upper)  # noqa: PTH118 - os.walk's texts

"""What one process runs as a shared library: the file that is mapped, and whether memory holds what the file holds."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Any, NamedTuple

from abtest.probe.identity import content_of, copies

DELETED = " (deleted)"


class Mapping(NamedTuple):
    """One executable mapping of a file: `size` bytes of memory at `start` show the file from `offset` on."""

    path: str
    deleted: bool
    start: int
    size: int
    offset: int


def report(target: str, when: str) -> dict[str, Any] | None:
    """Describe the library as this process has it mapped; None if it never loaded one of that name.

    `loaded_code` is the hash of the executable memory, `compiled_code` that of the same ranges of the file;
    `match` holds only if they are equal and the file was not replaced since it was mapped.
    Keys are those of `identity.report`.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        mapped = [one for one in executable(file.read()) if _is(one.path, target)]
    if not mapped:
        return None
    path = mapped[0].path
    mine = [one for one in mapped if one.path == path]
    others = sorted({one.path for one in mapped} - {path})
    content, unreadable = content_of(path)
    loaded, on_disk = _memory(mine), _ranges(mine, content)
    deleted = any(one.deleted for one in mine)
    return {
        "pid": os.getpid(),
        "when": when,
        "target": target,
        "path": path,
        "md5": hashlib.md5(content).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "loaded_code": loaded,
        "compiled_code": on_disk,
        "match": loaded == on_disk and not deleted and not others,
        "copies": others or copies(_below_root(target, path), path),
        "pycache_prefix": sys.pycache_prefix,
        "triton": None,
        "unseen": False,
        "changed": deleted,
        "strange": [f"{other} is loaded as well" for other in others],
        "unreadable": unreadable,
    }


def executable(maps: str) -> list[Mapping]:
    """Read the executable file mappings out of a process's list of mappings.

    >>> line = "7f00-7f10 r-xp 00000010 fd:00 12                 /lib/a b.so (deleted)"
    >>> executable(line)
    [Mapping(path='/lib/a b.so', deleted=True, start=32512, size=16, offset=16)]
    """
    found = []
    for line in maps.splitlines():
        parts = line.split(None, 5)
        if len(parts) < 6 or "x" not in parts[1] or not parts[5].startswith("/"):  # noqa: PLR2004 - its columns
            continue
        start, _, end = parts[0].partition("-")
        path = parts[5].replace("\\012", "\n")
        deleted = path.endswith(DELETED)
        found.append(
            Mapping(
                path[: -len(DELETED)] if deleted else path,
                deleted,
                int(start, 16),
                int(end, 16) - int(start, 16),
                int(parts[2], 16),
            )
        )
    return found


def _is(path: str, target: str) -> bool:
    if os.path.isabs(target):
        return os.path.realpath(path) == os.path.realpath(target)
    return path.endswith(f"/{target}")


def _below_root(target: str, path: str) -> str:
    return os.path.basename(path) if os.path.isabs(target) else target


def _memory(mapped: list[Mapping]) -> str:
    hasher = hashlib.sha256()
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for one in mapped:
            memory.seek(one.start)
            hasher.update(memory.read(one.size))
    return hasher.hexdigest()


def _ranges(mapped: list[Mapping], content: bytes) -> str:
    """Hash the mapped ranges of the file; beyond its end the last page of memory is zero."""
    hasher = hashlib.sha256()
    for one in mapped:
        hasher.update(content[one.offset : one.offset + one.size].ljust(one.size, b"\0"))
    return hasher.hexdigest()

"""Before a run: where the targets are in this image, what the image holds, and whether it sees our files."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

from abtest.probe.environment import distributions_sha256
from abtest.probe.errors import failed, invalid
from abtest.probe.hook import module_name
from abtest.probe.identity import copies

if TYPE_CHECKING:
    from abtest.probe.request import Request

MOST_BYTES = 16 << 20


def survey(asked: Request) -> dict[str, Any]:
    """Find every target without importing it, and fingerprint the image.

    Raises:
        ProbeError: a target is missing or no regular file.
    """
    targets = [_target(name) for name in asked.targets]
    roots = sorted({target["package_root"] for target in targets})
    return {
        "nonce": _nonce(asked.nonce),
        "python": {"executable": sys.executable, "version": sys.version.split()[0]},
        "targets": targets,
        "fingerprint": {
            "python": sys.version,
            "distributions": distributions_sha256(),
            "package": hashlib.sha256(
                "".join(tree_sha256(root) for root in roots).encode()
            ).hexdigest(),
            "os_release": _os_release(),
        },
    }


def _nonce(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise failed(
            "nonce-missing", f"the engine does not show us the host's file: {error}"
        ) from error


def _target(name: str) -> dict[str, Any]:
    path = name if os.path.isabs(name) else _locate(name)
    if not os.path.isfile(path):
        raise invalid("target-missing", f"{name}: {path} is not a regular file in this image")
    if os.path.getsize(path) > MOST_BYTES:
        raise invalid("target-missing", f"{name}: {path} is larger than {MOST_BYTES} bytes")
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise invalid(
            "target-unreadable", f"{name}: user {os.getuid()} cannot read {path}: {error}"
        ) from error
    root = _package_root(path, name)
    return {
        "target": name,
        "path": path,
        "real_path": os.path.realpath(path),
        "package_root": root,
        "md5": hashlib.md5(content).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "content_b64": base64.b64encode(content).decode(),
        "copies": copies(os.path.relpath(path, os.path.dirname(root)), path),
    }


def _locate(name: str) -> str:
    """Find the file by the top-level package's place, without importing anything of it."""
    top = name.split("/", maxsplit=1)[0]
    spec = importlib.util.find_spec(module_name(top) if top.endswith(".py") else top)
    if spec is None:
        raise invalid("target-missing", f"{name}: no package {top!r} on this image's import path")
    places = list(spec.submodule_search_locations or ())
    if not places:
        return spec.origin or name
    found = [
        path
        for place in places
        if os.path.isfile(path := os.path.join(os.path.dirname(place), name))
    ]
    return found[0] if found else os.path.join(os.path.dirname(places[0]), name)


def _package_root(path: str, name: str) -> str:
    """Find the top-level package that a file lies in; a file outside of any package is its own root."""
    if not os.path.isabs(name):
        for _ in range(name.count("/")):
            path = os.path.dirname(path)
        return path
    while os.path.isfile(os.path.join(os.path.dirname(path), "__init__.py")):
        path = os.path.dirname(path)
    return path


def tree_sha256(root: str) -> str:
    """Hash a package's files by relative path and content, bytecode left out; one file hashes as itself."""
    hasher = hashlib.sha256()
    if os.path.isfile(root):
        return str(_sha256(root).hexdigest())
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name != "__pycache__")
        for name in sorted(files):
            path = os.path.join(folder, name)
            if not name.endswith(".pyc") and os.path.isfile(path):
                hasher.update(
                    os.path.relpath(path, root).encode("utf-8", "surrogateescape") + b"\0"
                )
                hasher.update(_sha256(path).digest())
    return hasher.hexdigest()


def _sha256(path: str) -> Any:  # noqa: ANN401 - hashlib's own type has no public name
    hasher = hashlib.sha256()
    with open(path, "rb") as file:
        while True:
            block = file.read(1 << 20)
            if not block:
                return hasher
            hasher.update(block)


def _os_release() -> str:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if line.startswith("PRETTY_NAME="):
                        return line.partition("=")[2].strip().strip('"')
        except OSError:  # noqa: PERF203 - two files at most
            continue
    return "unknown"

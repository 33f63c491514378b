"""Facts about the sandbox that must be equal between arms, but for what they declare."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from typing import Any

SKIPPED = {"ABTEST_REQUEST", "PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME"}


def distributions_sha256() -> str:
    """Hash the installed distributions' names and versions, read from their folders' names."""
    found: set[str] = set()
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        found.update(name for name in names if name.endswith((".dist-info", ".egg-info")))
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def facts(request: dict[str, Any], version: str) -> dict[str, str]:
    """Collect them, flat; folders that differ between trials by nature are replaced by their meaning."""
    engine = request["engine"]
    found = {
        "python": sys.version,
        "platform.machine": platform.machine(),
        "platform.release": platform.release(),
        "cpu_count": str(len(os.sched_getaffinity(0))),
        "distributions": distributions_sha256(),
        "engine.kind": str(engine["kind"]),
        "engine.version": version,
        "engine.args": json.dumps(engine["args"], sort_keys=True),
        "engine.tensor_parallel": str(engine["tensor_parallel"]),
    }
    hidden = set(request.get("hide_env") or ()) | SKIPPED
    for name, value in os.environ.items():
        if name not in hidden:
            found[f"env.{name}"] = _normalised(value, request["out"])
    return found


def _normalised(value: str, out: str) -> str:
    folders = [(out, "<out>"), (os.environ.get("ABTEST_SANDBOX"), "<sandbox>")]
    folders += [(os.environ.get("TMPDIR"), "<tmp>"), (os.environ.get("HOME"), "<home>")]
    for folder, meaning in folders:
        if folder and len(folder) > 1:
            value = value.replace(folder, meaning)
    return value

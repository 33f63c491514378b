"""Containers that a dead run left behind: found by label, removed only when nobody holds their run's lock."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from abtest.runtimes.docker.engine import TROUBLES, Engine

OWNER = "abtest.owner=abtest"


def dead(engine: Engine, is_free: Callable[[Path], bool]) -> list[Any]:
    """List containers of runs whose lock is free; those of live runs are never touched."""
    try:
        ours = engine.client.containers.list(
            all=True, filters={"label": OWNER}, ignore_removed=True
        )
    except TROUBLES:
        return []
    return [
        container
        for container in ours
        if (folder := container.labels.get("abtest.results")) and is_free(Path(folder))
    ]


def remove(engine: Engine, is_free: Callable[[Path], bool]) -> list[str]:
    """Remove them; returns their names."""
    found = dead(engine, is_free)
    for container in found:
        engine.remove(container)
    return [str(container.name) for container in found]

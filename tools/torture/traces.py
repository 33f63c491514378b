"""What a run may leave behind: processes, containers, temporary files."""

import os
from pathlib import Path
from typing import Any

import docker

from tools.torture.lab import Lab


def processes(one: Lab, *words: str) -> list[int]:
    """List live processes that name this lab's folder, or run in one of its containers.

    Args:
        words: all of them must be in the process's command line.
    """
    return sorted(
        pid
        for pid in {*_by_name(one.root), *_in_containers(one)}
        if pid != os.getpid()
        and f"{one.root}/engine/" not in _command(pid)  # an engine of the lab's own
        and all(word in _command(pid) for word in words)
    )


def probes(one: Lab) -> list[int]:
    """List the probes of trials that run now."""
    return [
        pid for pid in processes(one, "-m\0abtest.probe") if "abtest.runtimes" not in _command(pid)
    ]


def workers(one: Lab) -> list[int]:
    """List the engine's workers that run now."""
    return processes(one, "spawn_main")


def containers(one: Lab) -> list[Any]:
    """List the containers of this lab, running or not; none where no engine answers."""
    url = one.environment.get("DOCKER_HOST")
    try:
        client = docker.DockerClient(url, timeout=20) if url else docker.from_env(timeout=20)
    except docker.errors.DockerException:
        return []
    try:
        owned = client.containers.list(
            all=True, filters={"label": "abtest.owner=abtest"}, ignore_removed=True
        )
        place = f"{one.root}/"
        return [it for it in owned if it.labels.get("abtest.results", "").startswith(place)]
    finally:
        client.close()


def temporary(one: Lab) -> list[str]:
    """List files that no finished run has: hidden ones, and scratch folders."""
    return sorted(
        str(path.relative_to(one.results))
        for path in one.results.rglob("*")
        if path.name.startswith(".") or path.name.endswith((".tmp", ".part"))
    )


def unfinished(one: Lab) -> list[str]:
    """List folders of runs that never came to a run."""
    found = one.results.glob("torture-*")
    return [path.name for path in found if not (path / "run.json").is_file()]


def _by_name(root: Path) -> set[int]:
    name = str(root).encode()
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            known = (path / "environ").read_bytes() + (path / "cmdline").read_bytes()
            if name in known + os.fsencode((path / "cwd").readlink()):
                found.add(int(path.name))
        except OSError:  # it is gone
            continue
    return found


def _in_containers(one: Lab) -> set[int]:
    if one.runtime != "docker":
        return set()
    ids = [str(container.id) for container in containers(one)]
    found = set()
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            continue
        if any(it in text for it in ids):
            found.add(int(path.parent.name))
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""

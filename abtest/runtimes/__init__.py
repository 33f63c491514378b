"""Where trials run: containers, processes, or a machine with a known truth."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from abtest.errors import InfrastructureError
from abtest.ports import Runtime

RuntimeKind = Literal["auto", "docker", "process"]


@contextmanager
def choose(
    kind: RuntimeKind,
    *,
    run_folder: Path,
    is_free: Callable[[Path], bool],
    allow_host_access: bool = False,
) -> Iterator[tuple[Runtime, str]]:
    """Open the runtime that was asked for; `auto` takes docker when an engine answers and serves our paths.

    Args:
        run_folder: the run's folder; staging happens below it.
        is_free: tells whether no live run holds a run's folder; containers of free ones are removed.

    Yields:
        The runtime, and one sentence on why it was chosen.

    Raises:
        InfrastructureError: docker was asked for, and no engine can be used.
    """
    from abtest.runtimes.process import ProcessRuntime

    work_dir = run_folder / ".work"
    why = "asked for"
    if kind != "process":
        from abtest.runtimes.docker import DockerRuntime

        try:
            runtime = DockerRuntime(run_folder, work_dir, allow_host_access=allow_host_access)
        except InfrastructureError as error:
            if kind == "docker":
                raise
            why = f"auto: {error.what}"
        else:
            with runtime:
                runtime.remove_leftovers(is_free)
                yield (
                    runtime,
                    "asked for" if kind == "docker" else f"auto: {runtime.engine} answers",
                )
            return
    with ProcessRuntime(work_dir) as process:
        yield process, why


def engine_version() -> tuple[str | None, str]:
    """Ask the container engine for its version; returns it, or None and why there is none."""
    from abtest.runtimes.docker.engine import connect

    try:
        client = connect()
    except InfrastructureError as error:
        return None, error.what
    with client:
        return client.version, ""


def leftovers(is_free: Callable[[Path], bool]) -> list[str]:
    """Name the containers of dead runs; an empty list where no engine answers."""
    from abtest.runtimes.docker.engine import connect
    from abtest.runtimes.docker.leftovers import dead

    try:
        client = connect()
    except InfrastructureError:
        return []
    with client:
        return [container.name for container in dead(client, is_free)]

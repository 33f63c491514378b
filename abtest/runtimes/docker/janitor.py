"""A small process that outlives its run by a second: when the run dies in whatever way, it removes its containers.

It waits for the end of its stdin, which the run holds open. It is the second of three nets: the probe in the
container dies with its own stdin, and the next run removes what both have missed.
"""

import contextlib
import os
import subprocess
import sys
import time
from types import TracebackType
from typing import Self

TRIES = 20  # a create call may be under way while the run dies
LOOK_S = 10.0  # how long a run that failed waits for the janitor


class Janitor:
    """Holds the janitor's stdin open; a context manager."""

    def __init__(self, session: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "abtest.runtimes.docker.janitor", session],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C goes to the run's group, not to this one
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it: a run that ends well has removed its containers.

        One that is ended by an error or a signal may not know of a container that it asked for: the janitor looks.
        """
        if kind is None:
            self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # then it goes on alone
            self._process.wait(LOOK_S)


def main(session: str) -> int:
    """Wait for the run's end, then remove the session's containers until two looks in a row find none."""
    while os.read(0, 4096):
        pass
    from abtest.runtimes.docker.engine import await_engine

    with await_engine() as engine:
        clean = 0
        for _ in range(TRIES):
            found = engine.client.containers.list(
                all=True, filters={"label": f"abtest.session={session}"}, ignore_removed=True
            )
            for container in found:
                engine.remove(container)
            clean = 0 if found else clean + 1
            if clean == 2:  # noqa: PLR2004 - two looks in a row
                break
            time.sleep(0.5)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

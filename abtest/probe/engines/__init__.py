"""Engine adapters, one file each: a module with a class `Adapter` and a function `current_phase`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

from abtest.probe.errors import failed

if TYPE_CHECKING:
    from typing import Protocol

    from abtest.probe.request import Request

    class Adapter(Protocol):
        """Drives one engine. Making the adapter imports the engine.

        Attributes:
            version: the engine's own.
            phase_function: "module:function", called in workers: the phase of the running step
                ("prefill", "decode", ...).
        """

        version: str
        phase_function: str

        def __init__(self, request: Request) -> None: ...

        def start(self) -> None:
            """Start the engine for the request's depth, batch and tokens: greedy, EOS ignored, no prefix cache."""

        def prompts(self) -> list[list[int]]:
            """Give the token ids of each sequence: [batch][depth], always the same."""

        def generate(self, prompts: list[list[int]], count: int) -> Generation:
            """Decode `count` tokens for every prompt."""

        def call_workers(self, name: str, *args: object) -> list[Any]:
            """Call a function of `abtest.probe.worker` in every worker.

            Raises:
                TimeoutError: a worker does not answer.
                Exception: whatever else the engine says.
            """

        def worker_pids(self) -> list[int]:
            """List the workers' process ids in rank order."""

        def close(self) -> None:
            """Stop the engine; does nothing if it never started."""


class Generation(NamedTuple):
    """One generation, as the engine itself counted it.

    Args:
        token_ids: produced ids, per sequence.
        prompt_tokens: length of the prompt, per sequence.
        token_times_s: `time.perf_counter` stamp of each step; empty where the engine has none.
        cached_tokens: prompt tokens that came from a prefix cache, per sequence.
    """

    token_ids: list[list[int]]
    prompt_tokens: list[int]
    token_times_s: list[float]
    cached_tokens: list[int]


def load(request: Request) -> Adapter:
    """Import the adapter of the request's engine kind, and with it the engine.

    Raises:
        ProbeError: there is no such adapter, or its engine cannot be imported.
    """
    name = f"{__name__}.{request.engine.kind}"
    try:
        adapter: Adapter = importlib.import_module(name).Adapter(request)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            raise failed(
                "engine-import", f"there is no engine kind {request.engine.kind!r} in this probe"
            ) from error
        raise failed(
            "engine-import", f"{request.engine.kind}: {type(error).__name__}: {error}"
        ) from error
    return adapter

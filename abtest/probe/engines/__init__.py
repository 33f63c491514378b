"""Engine adapters, one file each: a module with a class `Adapter` and a function `current_phase`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

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
            prefix_cache: the experiment wants one, so that every timed prompt must come from it alike.
            profiles: whether the workers can record the kernels of decode steps.
            flags: findings about the engine's set-up, such as `dummy-weights`; complete once it has started.
        """

        version: str
        phase_function: str
        prefix_cache: bool
        profiles: bool
        flags: list[str]

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

        def facts(self) -> dict[str, str]:
            """Tell what the engine made of its arguments, flat; it must be equal between arms but for what they declare."""

        def condition_facts(self) -> dict[str, str]:
            """Tell what follows from the depth or the batch, and so differs between conditions by nature."""

        def requested(self) -> dict[str, str]:
            """Tell what was asked of the engine that it may silently refuse: keys as in the log evidence."""

        def close(self) -> None:
            """Stop the engine; does nothing if it never started."""


class Generation(NamedTuple):
    """One generation, as the engine itself counted it.

    Args:
        token_ids: produced ids, per sequence.
        prompt_tokens: length of the prompt, per sequence.
        token_times_s: `time.perf_counter` stamp of each step that produced a token; empty where the engine has none,
            or where a step gave a sequence more than one token.
        cached_tokens: prompt tokens that came from a prefix cache, per sequence.
        first_steps: the step (index of its stamp) that gave each sequence its first token; empty means that all
            sequences began in the first one.
        steps: how many steps produced tokens; 0 where that is not known.
        seconds: the whole time as the engine took it, where it is driven over a pipe; None to take the probe's.
    """

    token_ids: list[list[int]]
    prompt_tokens: list[int]
    token_times_s: list[float]
    cached_tokens: list[int]
    first_steps: Sequence[int] = ()
    steps: int = 0
    seconds: float | None = None


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

"""Engine adapters, one file each, with one class `Adapter`.

`Adapter(request)` remembers what to start; `start()` starts it; `prompts()` gives the token ids of each
sequence; `generate(prompts, n)` returns a `Generation`; `call_workers(name, *args)` calls a function in every
worker and returns the answers in rank order; `worker_pids()`; `close()`; `phase_function` names a function,
callable in a worker, that tells the phase of the running step; `version` is the engine's own.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from abtest.probe.errors import failed


@dataclass
class Generation:
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


def load(request: dict[str, Any]) -> Any:  # noqa: ANN401 - adapters share a form, not a base
    """Import the adapter of the request's engine kind and make one.

    Raises:
        ProbeError: there is no such adapter, or its engine cannot be imported.
    """
    kind = request["engine"]["kind"]
    try:
        module = importlib.import_module(f"abtest.probe.engines.{kind}")
        return module.Adapter(request)
    except Exception as error:
        raise failed("engine-import", f"{kind}: {type(error).__name__}: {error}") from error

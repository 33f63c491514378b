"""Records the kernels of decode steps in one worker, with the profiler of PyTorch, where there is a device."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from typing import Any, ContextManager

from abtest.probe import kernels


class _State:
    profiler: Any = None


def step_range(phase: str, sequences: int) -> ContextManager[Any]:
    """Mark a step while a profile runs; at any other time this is nothing.

    Args:
        sequences: how many of them the step advances.
    """
    if _State.profiler is None:
        return contextlib.nullcontext()
    marked: ContextManager[Any] = sys.modules["torch"].profiler.record_function(
        kernels.mark(phase, sequences)
    )
    return marked


def running() -> bool:
    """Tell whether a profile runs in this process."""
    return _State.profiler is not None


def start() -> str | None:
    """Begin a profile; returns why there can be none, None when it runs."""
    torch: Any = sys.modules.get("torch")  # the engine's own: nothing is imported for its own sake
    if torch is None:
        return "no PyTorch in this worker"
    if not torch.cuda.is_available():
        return "no accelerator in this worker"
    activity = torch.profiler.ProfilerActivity
    made = torch.profiler.profile(activities=[activity.CPU, activity.CUDA])
    made.start()
    _State.profiler = made
    return None


def stop() -> kernels.Decode:
    """End the profile and read it.

    Raises:
        RuntimeError: no profile runs here.
    """
    made, _State.profiler = _State.profiler, None
    if made is None:
        raise RuntimeError("no profile was begun in this worker")
    sys.modules["torch"].cuda.synchronize()
    made.stop()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        made.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            body = json.load(file)
    return kernels.decode_kernels(body["traceEvents"])

"""What the engine calls in every worker, by name, on the probe's behalf; each answer carries its process id."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Sequence

from abtest.probe import hook as hooks
from abtest.probe import identity, library, profiler

step_range = profiler.step_range
CALLS = ("status", "set_recording", "routes", "facts", "report", "profile_start", "profile_stop")


def status(phase_function: str) -> dict[str, Any]:
    """Tell whether the hook is in place here, and connect the recorder to the engine's own phase.

    Args:
        phase_function: "module:function" of the engine's adapter.
    """
    hook = hooks.installed()
    if hook is not None and hook.recorder is not None:
        module, _, function = phase_function.partition(":")
        hook.recorder.phase_of = getattr(importlib.import_module(module), function)
    return {
        "pid": os.getpid(),
        "hook": hook is not None,
        "problem": _problem(),
        "late": [] if hook is None else list(hook.late),
    }


def set_recording(on: bool) -> dict[str, Any]:  # noqa: FBT001 - travels by position through the engine's call
    """Switch the recorder."""
    hook = hooks.installed()
    if hook is not None and hook.recorder is not None:
        hook.recorder.on = on
    return {"pid": os.getpid()}


def routes() -> dict[str, Any]:
    """Hand over what was recorded here."""
    hook = hooks.installed()
    recorder = None if hook is None else hook.recorder
    return {
        "pid": os.getpid(),
        "attached": recorder is not None and recorder.attached,
        "routes": [] if recorder is None else recorder.routes(),
        "faults": [] if recorder is None else list(recorder.faults),
    }


def watching() -> bool:
    """Tell whether anybody wants to know the phase of a step: while pairs are timed, nobody does."""
    hook = hooks.installed()
    recording = hook is not None and hook.recorder is not None and hook.recorder.on
    return recording or profiler.running()


def answer(name: str, args: Sequence[Any] = ()) -> dict[str, Any]:
    """Call one of the functions of this module, for programs that relay the probe's calls."""
    if name not in CALLS:
        raise ValueError(f"{name!r} is none of {', '.join(CALLS)}")
    answered: dict[str, Any] = globals()[name](*args)
    return answered


def facts(module: str) -> dict[str, Any]:
    """Tell what this worker's part of the engine was set up with.

    Args:
        module: the adapter's module for workers, with a function `facts`.
    """
    return {"pid": os.getpid(), "facts": importlib.import_module(module).facts()}


def profile_start() -> dict[str, Any]:
    """Begin to record kernels; `absent` says why that is not possible here."""
    return {"pid": os.getpid(), "absent": profiler.start()}


def profile_stop() -> dict[str, Any]:
    """Hand over the kernels of the decode steps since `profile_start`."""
    decode = profiler.stop()
    return {
        "pid": os.getpid(),
        "steps": decode.steps,
        "kernels": decode.kernels,
        "uneven": decode.uneven,
        "uneven_share": decode.uneven_share,
    }


def report(when: str, targets: list[str]) -> dict[str, Any]:
    """Describe every target as this worker runs it; one that was never imported is left out."""
    hook = hooks.installed()
    described = (
        library.report(target, when)
        if hooks.is_library(target)
        else identity.report(target, when, hook)
        for target in targets
    )
    return {"pid": os.getpid(), "targets": [entry for entry in described if entry is not None]}


def _problem() -> str | None:
    """Say why there is no hook in this process, as far as it can be known."""
    ours = sys.modules.get("sitecustomize")
    failure = getattr(ours, "FAILURE", None)
    if failure:
        return str(failure)
    if hooks.installed() is not None:
        return None
    if not os.environ.get("ABTEST_REQUEST"):
        return "ABTEST_REQUEST is not set in this process: the engine starts its workers with another environment"
    place = getattr(ours, "__file__", None)
    return f"our sitecustomize did not run here (the one in use: {place}); is PYTHONPATH passed on?"

"""What the engine calls in every worker, by name, on the probe's behalf."""

from __future__ import annotations

import os
from typing import Any

from abtest.probe import hook as hooks
from abtest.probe.identity import describe


def status(phase_function: str | None) -> dict[str, Any]:
    """Tell whether the hook is in place here, and connect the recorder to the engine's own phase."""
    hook = hooks.installed()
    if hook is not None and hook.recorder is not None and phase_function is not None:
        hook.recorder.phase_of = _resolve(phase_function)
    return {
        "pid": os.getpid(),
        "hook": hook is not None,
        "problem": hooks.problem,
        "late": [] if hook is None else hook.late,
        "wrapped": hook is not None and hook.recorder is not None and hook.recorder.wrapped,
    }


def set_recording(on: bool) -> int:  # noqa: FBT001 - travels by position through the engine's call
    """Switch the recorder; returns this process's pid."""
    hook = hooks.installed()
    if hook is not None and hook.recorder is not None:
        hook.recorder.on = on
    return os.getpid()


def routes() -> dict[str, Any]:
    """Hand over what was recorded here."""
    hook = hooks.installed()
    recorder = None if hook is None else hook.recorder
    return {
        "pid": os.getpid(),
        "routes": [] if recorder is None else recorder.routes(),
        "faults": [] if recorder is None else list(recorder.faults),
    }


def report(when: str, targets: list[str]) -> list[dict[str, Any]]:
    """Describe every target as this worker runs it; one that was never imported is left out."""
    described = (describe(target, when, hooks.installed()) for target in targets)
    return [entry for entry in described if entry is not None]


def _resolve(name: str) -> Any:  # noqa: ANN401 - a function of the engine adapter
    import importlib

    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)

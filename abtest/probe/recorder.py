"""The route recorder: which dispatch decision a function takes, seen inside the worker.

The function is wrapped once, when its module is loaded. While recording is on, a profile function for the
length of one call reads the arguments and locals at the moment the function returns; while it is off, the
wrapper tests one flag and calls through. Timing never runs with recording on.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import types
from typing import Any, Callable, Sequence

from abtest.probe.lookup import MISSING, find, parse

ABSENT = "absent"
MOST_ROUTES = 4096
MOST_FAULTS = 10
MOST_TEXT = 80
_ORIGINALS: dict[
    int, tuple[Any, Any]
] = {}  # id of a wrapper -> (wrapper, original); the entry keeps the id valid


def original(value: Any) -> Any:  # noqa: ANN401 - any object, given back
    """Look behind a wrapper of ours; any other object, also one that copied our wrapper's marks, is itself."""
    wrapper, function = _ORIGINALS.get(id(value), (None, None))
    return function if wrapper is value and wrapper is not None else value


class Recorder:
    """What one process records; a forked child begins with nothing."""

    def __init__(self, names: Sequence[str]) -> None:
        self.lookups = tuple(parse(name) for name in names)
        self.names = tuple(lookup.name for lookup in self.lookups)
        self.on = False
        self.capturing = False
        self.attached = False
        self.faults: list[str] = []
        self.phase_of: Callable[[], str] | None = None
        self._counts: dict[tuple[str, tuple[Any, ...]], int] = {}
        os.register_at_fork(after_in_child=self._counts.clear)

    def attach(self, module: types.ModuleType, path: str) -> None:
        """Replace `function` or `Class.method` of a module by its stand-in; a fault is remembered, not raised."""
        *owners, name = path.split(".")
        owner: Any = module
        for part in owners:
            owner = getattr(owner, part, None)
        found = getattr(owner, "__dict__", {}).get(name)
        function = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
        if not isinstance(function, types.FunctionType):
            self.fault(
                f"{module.__name__}:{path} is not a Python function of the module as it was loaded"
            )
            return
        wrapper = self.wrap(function)
        if isinstance(found, (staticmethod, classmethod)):
            setattr(owner, name, type(found)(wrapper))
        else:
            setattr(owner, name, wrapper)
        self.attached = True

    def wrap(self, function: types.FunctionType) -> Callable[..., Any]:
        """Make the stand-in of a function."""

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - stands in for any function
            if not (self.on or self.capturing):
                return function(*args, **kwargs)
            return self._call(function, args, kwargs)

        _ORIGINALS[id(recorded)] = (recorded, function)
        return recorded

    def _call(
        self, function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:  # noqa: ANN401 - the same
        before: Any = sys.getprofile()
        if before is not None and not callable(before):
            self.fault(
                f"another profiler is active in this thread ({before!r}): the call cannot be watched"
            )
            return function(*args, **kwargs)
        here: types.FrameType | None = sys._getframe()  # noqa: SLF001 - the documented way to one's own frame
        code, seen = function.__code__, False

        def watch(frame: types.FrameType, event: str, argument: object) -> None:
            nonlocal seen
            # the caller must be this very frame: the function may call itself
            if event == "return" and frame.f_code is code and frame.f_back is here:
                seen = True
                self._take(frame)
            if before is not None:
                before(frame, event, argument)

        sys.setprofile(watch)
        try:
            result = function(*args, **kwargs)
        finally:
            sys.setprofile(before)
            here = None  # a frame that holds itself would keep its arguments alive
        if not seen:
            self.fault(f"the return of {function.__qualname__} was not seen: is it a generator?")
        return result

    def _take(self, frame: types.FrameType) -> None:
        try:
            local = frame.f_locals
            values = tuple(
                plain(find(lookup, local, read_device=not self.capturing))
                for lookup in self.lookups
            )
            # repr apart: True, 1 and 1.0 are equal keys, and different decisions
            key = (
                self._phase(),
                tuple((repr(one), one) for one in values),
            )
            if key in self._counts or len(self._counts) < MOST_ROUTES:
                self._counts[key] = self._counts.get(key, 0) + 1
            else:
                self.fault(f"more than {MOST_ROUTES} distinct routes: record fewer names")
        except Exception as error:  # noqa: BLE001 - a fault of ours must never reach the engine
            self.fault(f"{type(error).__name__}: {error}")

    def _phase(self) -> str:
        if self.capturing:
            return "capture"
        return self.phase_of() if self.phase_of else "unknown"

    def capture(self, *, on: bool) -> None:
        """Record while a graph is captured, whether recording is switched on or not."""
        self.capturing = on

    def fault(self, text: str) -> None:
        """Remember what went wrong; the trial will fail with it."""
        if text not in self.faults and len(self.faults) < MOST_FAULTS:
            self.faults.append(text)

    def routes(self) -> list[dict[str, Any]]:
        """List the distinct decisions, each with its phase and count."""
        return [
            {
                "phase": phase,
                "values": dict(zip(self.names, (one for _, one in values))),
                "count": count,
            }
            for (phase, values), count in self._counts.items()
        ]


def plain(value: Any) -> Any:  # noqa: ANN401 - a local is of any type
    """Reduce a value to what JSON holds.

    >>> plain(3), plain(float("nan")), plain([1, 2])
    (3, 'nan', '[1, 2]')
    """
    if value is MISSING:
        return ABSENT
    if value is None or type(value) in (bool, int):
        return value
    if isinstance(value, str):
        return str(value)[:MOST_TEXT]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(float(value))
    item = getattr(value, "item", None)
    if (
        callable(item) and getattr(value, "ndim", None) == 0
    ):  # a number of NumPy or of a tensor library
        return plain(item())
    return repr(value)[:MOST_TEXT]

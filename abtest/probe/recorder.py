"""The route recorder: which dispatch decision a function takes, seen inside the worker.

The function is wrapped once, when its module is loaded. While recording is on, a profile hook for the length
of one call reads the arguments and locals at the moment the function returns; while it is off, the wrapper
tests one flag and calls through.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, Callable

ABSENT = "absent"
MOST_ROUTES = 4096
_MISSING = object()


class Recorder:
    """Records of one process."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.on = False
        self.wrapped = False
        self.faults: list[str] = []
        self.phase_of: Callable[[], str] = lambda: "unknown"
        self._counts: dict[tuple[str, tuple[tuple[str, Any], ...]], int] = {}

    def wrap(self, function: Any) -> Any:  # noqa: ANN401 - stands in for any function
        """Make the stand-in for the function; it keeps the original as `__abtest_wrapped__`."""
        code = function.__code__

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the same
            if not self.on:
                return function(*args, **kwargs)
            return self._call(code, function, args, kwargs)

        recorded.__abtest_wrapped__ = function  # type: ignore[attr-defined]  # our mark on our wrapper
        self.wrapped = True
        return recorded

    def _call(self, code: types.CodeType, function: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401 - the same
        before = sys.getprofile()

        def watch(frame: types.FrameType, event: str, _argument: object) -> None:
            if event == "return" and frame.f_code is code:
                self._take(frame)

        sys.setprofile(watch)
        try:
            return function(*args, **kwargs)
        finally:
            sys.setprofile(before)

    def _take(self, frame: types.FrameType) -> None:
        try:
            local = frame.f_locals
            values = tuple((name, _plain(local.get(name, _MISSING))) for name in self.names)
            key = (self.phase_of(), values)
            if key in self._counts or len(self._counts) < MOST_ROUTES:
                self._counts[key] = self._counts.get(key, 0) + 1
            else:
                self._fault(f"more than {MOST_ROUTES} distinct routes")
        except Exception as error:  # noqa: BLE001 - a fault of ours must never reach the engine
            self._fault(f"{type(error).__name__}: {error}")

    def _fault(self, text: str) -> None:
        if text not in self.faults and len(self.faults) < 10:  # noqa: PLR2004 - enough to understand
            self.faults.append(text)

    def routes(self) -> list[dict[str, Any]]:
        """List the distinct decisions, each with its phase and count."""
        return [
            {"phase": phase, "values": dict(values), "count": count}
            for (phase, values), count in self._counts.items()
        ]


def _plain(value: Any) -> Any:  # noqa: ANN401 - a local is of any type
    if value is _MISSING:
        return ABSENT
    if value is None or isinstance(value, (bool, int, float, str)):
        return value if not isinstance(value, str) else value[:80]
    item: Callable[[], Any] | None = getattr(value, "item", None)
    if (
        callable(item) and getattr(value, "size", None) == 1
    ):  # a number of NumPy or of a tensor library
        return _plain(item())
    return repr(value)[:80]

"""Tells the recorder when a graph is being captured: replays run no Python, so the decision is taken there."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abtest.probe.recorder import Recorder


def watch(recorder: Recorder) -> bool:
    """Wrap the two calls of PyTorch that every capture goes through; False where there is no PyTorch yet.

    Called right after the route's module was imported, which has imported PyTorch if it uses it at all.
    """
    torch: Any = sys.modules.get("torch")
    graph = getattr(getattr(torch, "cuda", None), "CUDAGraph", None)
    if graph is None:
        return False
    begin, end = graph.capture_begin, graph.capture_end

    @functools.wraps(begin)
    def capture_begin(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - stands in for PyTorch's
        result = begin(self, *args, **kwargs)
        recorder.capture(on=True)
        return result

    @functools.wraps(end)
    def capture_end(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the same
        recorder.capture(on=False)
        return end(self, *args, **kwargs)

    graph.capture_begin, graph.capture_end = capture_begin, capture_end
    return True

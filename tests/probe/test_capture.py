"""Decisions that are taken while a graph is captured, and values that must not be read then."""

import sys
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest

from abtest.probe import capture
from abtest.probe.recorder import Recorder


class Graph:
    """Stands in for PyTorch's own."""

    def capture_begin(self) -> None: ...

    def capture_end(self) -> None: ...


class DeviceNumber:
    """A number in a device's memory; to read it ends a capture."""

    is_cuda = True
    ndim = 0

    def item(self) -> int:
        raise AssertionError("read while a graph was captured")


def decode(*, use_3d: bool, depth: Any) -> bool:
    return use_3d


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> type[Graph]:
    made = type("Graph", (Graph,), dict(vars(Graph)))
    torch = SimpleNamespace(cuda=SimpleNamespace(CUDAGraph=made))
    monkeypatch.setitem(sys.modules, "torch", torch)
    return made


def test_what_is_decided_at_capture_is_recorded_with_its_phase(graph: type[Graph]) -> None:
    recorder = Recorder(["use_3d", "depth"])
    assert isinstance(decode, FunctionType)
    wrapped = recorder.wrap(decode)
    assert capture.watch(recorder)
    wrapped(use_3d=False, depth=1)
    captured = graph()
    captured.capture_begin()
    wrapped(use_3d=True, depth=DeviceNumber())
    captured.capture_end()
    wrapped(use_3d=False, depth=1)
    assert recorder.routes() == [
        {"phase": "capture", "values": {"use_3d": True, "depth": "on device"}, "count": 1}
    ]
    assert recorder.faults == []


def test_without_pytorch_there_is_nothing_to_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not capture.watch(Recorder(["use_3d"]))

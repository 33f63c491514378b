"""A stand-in for PyTorch on a device: graph capture, and a profiler whose trace holds what was launched."""

import json
from contextlib import contextmanager

EVENTS = []
_now_us = 0.0


def launch(name):
    """Launch a kernel; it runs half a step later, and takes 10 us."""
    number = len(EVENTS) + 1
    EVENTS.append(
        {"cat": "cuda_runtime", "name": "launch", "ts": _tick(), "args": {"correlation": number}}
    )
    EVENTS.append(
        {
            "cat": "kernel",
            "name": name,
            "ts": _tick() + 50.0,
            "dur": 10.0,
            "args": {"correlation": number},
        }
    )


def _tick():
    global _now_us
    _now_us += 1.0
    return _now_us


class cuda:
    class CUDAGraph:
        def capture_begin(self): ...

        def capture_end(self): ...

    @staticmethod
    def is_available():
        return True

    @staticmethod
    def synchronize(): ...


class profiler:
    class ProfilerActivity:
        CPU, CUDA = "CPU", "CUDA"

    class profile:
        def __init__(self, activities):
            assert activities == ["CPU", "CUDA"]

        def start(self):
            EVENTS.clear()

        def stop(self): ...

        def export_chrome_trace(self, path):
            with open(path, "w") as file:
                json.dump({"traceEvents": EVENTS}, file)

    @staticmethod
    @contextmanager
    def record_function(name):
        EVENTS.append({"cat": "user_annotation", "name": name, "ts": _tick(), "dur": 1.0})
        yield

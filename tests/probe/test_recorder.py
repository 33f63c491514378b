"""The route recorder: what it reads, and that it never stands in the engine's way."""

import enum
import math
import os
import sys
import types

import numpy as np
import pytest

from abtest.probe.recorder import Recorder, original, plain


def dispatch(size: int, window: int = 0) -> int:
    if size < 0:
        raise ValueError("negative")
    split = size > 100
    if size > 1000:
        late = size // 2
        size = late + late
    return size + window + split


@pytest.fixture
def recorder() -> Recorder:
    made = Recorder(["size", "window", "split", "late"])
    made.phase_of = lambda: "decode"
    return made


def test_arguments_and_locals_are_read_and_what_is_not_there_is_absent(recorder: Recorder) -> None:
    wrapped = recorder.wrap(dispatch)  # type: ignore[arg-type]  # mypy has no FunctionType of a def
    recorder.on = True
    assert [wrapped(50), wrapped(50), wrapped(200, window=3)] == [50, 50, 204]
    assert recorder.routes() == [
        {
            "phase": "decode",
            "values": {"size": 50, "window": 0, "split": False, "late": "absent"},
            "count": 2,
        },
        {
            "phase": "decode",
            "values": {"size": 200, "window": 3, "split": True, "late": "absent"},
            "count": 1,
        },
    ]
    assert recorder.faults == []


def test_values_that_are_equal_and_not_the_same_are_two_routes(recorder: Recorder) -> None:
    wrapped = recorder.wrap(dispatch)  # type: ignore[arg-type]  # mypy has no FunctionType of a def
    recorder.on = True
    wrapped(1)
    wrapped(size=True)
    assert [route["values"]["size"] for route in recorder.routes()] == [1, True]
    assert [type(route["values"]["size"]) for route in recorder.routes()] == [int, bool]


def test_while_it_is_off_nothing_is_recorded_and_no_profile_function_is_set(
    recorder: Recorder,
) -> None:
    profiles: list[object] = []

    def look() -> None:
        profiles.append(sys.getprofile())

    wrapped = recorder.wrap(look)  # type: ignore[arg-type]  # mypy has no FunctionType of a def
    wrapped()
    assert profiles == [sys.getprofile()]
    assert recorder.routes() == []


def test_a_profile_function_that_was_there_stays_and_still_sees(recorder: Recorder) -> None:
    seen: list[str] = []

    def theirs(frame: types.FrameType, event: str, _argument: object) -> None:
        if event == "return":
            seen.append(frame.f_code.co_name)

    wrapped = recorder.wrap(dispatch)  # type: ignore[arg-type]  # mypy has no FunctionType of a def
    recorder.on = True
    before = sys.getprofile()
    sys.setprofile(theirs)
    try:
        wrapped(5)
        kept = sys.getprofile()
    finally:
        sys.setprofile(before)
    assert kept is theirs
    assert "dispatch" in seen
    assert len(recorder.routes()) == 1


def test_a_function_that_calls_itself_is_counted_once_per_call() -> None:
    module = types.ModuleType("m")
    exec("def f(n):\n    return n if n == 0 else f(n - 1)\n", module.__dict__)
    recorder = Recorder(["n"])
    recorder.attach(module, "f")
    recorder.on = True
    assert module.f(2) == 0
    counts = {route["values"]["n"]: route["count"] for route in recorder.routes()}
    assert counts == {0: 1, 1: 1, 2: 1}


def test_the_engines_own_error_passes_unchanged(recorder: Recorder) -> None:
    wrapped = recorder.wrap(dispatch)  # type: ignore[arg-type]  # mypy has no FunctionType of a def
    recorder.on = True
    before = sys.getprofile()
    with pytest.raises(ValueError, match="negative"):
        wrapped(-1)
    assert sys.getprofile() is before


def test_a_fault_of_the_recorder_is_remembered_and_never_reaches_the_engine() -> None:
    class Nasty:
        def __repr__(self) -> str:
            raise RuntimeError("planted")

    recorder = Recorder(["value"])

    def take(value: object) -> int:
        return 5 if value is not None else 6

    wrapped = recorder.wrap(take)  # type: ignore[arg-type]  # mypy has no FunctionType of a def
    recorder.on = True
    assert wrapped(Nasty()) == 5
    assert recorder.faults == ["RuntimeError: planted"]
    assert recorder.routes() == []


@pytest.mark.parametrize("kind", ["plain", "staticmethod", "classmethod"])
def test_methods_are_wrapped_as_the_kind_they_are(kind: str) -> None:
    mark = "" if kind == "plain" else f"    @{kind}\n"
    first = {"plain": "self, ", "staticmethod": "", "classmethod": "cls, "}[kind]
    module = types.ModuleType("m")
    exec(f"class A:\n{mark}    def f({first}n):\n        return n + 1\n", module.__dict__)
    recorder = Recorder(["n"])
    recorder.attach(module, "A.f")
    recorder.on = True
    assert module.A().f(1) == 2
    assert [route["values"] for route in recorder.routes()] == [{"n": 1}]


@pytest.mark.parametrize("path", ["nothing", "A.f", "number", "len"])
def test_what_is_no_python_function_is_a_fault(path: str) -> None:
    module = types.ModuleType("m")
    exec("number = 3\nlen = len\nclass A: pass\n", module.__dict__)
    recorder = Recorder(["n"])
    recorder.attach(module, path)
    assert not recorder.attached
    assert len(recorder.faults) == 1
    assert path in recorder.faults[0]


def test_only_the_very_wrapper_leads_to_the_original(recorder: Recorder) -> None:
    wrapped = recorder.wrap(dispatch)  # type: ignore[arg-type]  # mypy has no FunctionType of a def
    assert original(wrapped) is dispatch
    assert original(dispatch) is dispatch


def test_a_forked_child_begins_with_nothing(recorder: Recorder) -> None:
    wrapped = recorder.wrap(dispatch)  # type: ignore[arg-type]  # mypy has no FunctionType of a def
    recorder.on = True
    wrapped(1)
    child = os.fork()
    if child == 0:
        os._exit(len(recorder.routes()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(recorder.routes()) == 1


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.bool_(1), True),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.array(4), 4),
        (np.arange(2), "array([0, 1])"),
        (math.inf, "inf"),
        (Colour.RED, "<Colour.RED: 1>"),
        ("x" * 200, "x" * 80),
        ([0] * 200, repr([0] * 200)[:80]),
        (None, None),
    ],
)
def test_values_become_what_json_holds(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)

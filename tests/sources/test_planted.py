"""The planted slow-down: where it stands, how long it holds, and where nothing can be planted."""

import ast
from collections.abc import Callable
from typing import Any

import pytest

from abtest.errors import UsageError
from abtest.sources.planted import held_up

PLAIN = b'''"""A kernel."""

from __future__ import annotations


def decode(x: int) -> int:
    """Docstrings stay first."""
    y = x + 1
    return y


def other(x: int) -> int:
    return x
'''


def loaded(content: bytes) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(content, "kernel.py", "exec"), names)
    return names


def held(function: Callable[..., object], *args: object, monkeypatch: pytest.MonkeyPatch) -> float:
    """Seconds of a clock that moves one millisecond per reading, until the function returns."""
    readings = [0]

    def tick() -> float:
        readings[0] += 1
        return readings[0] / 1000

    monkeypatch.setattr("time.perf_counter", tick)
    function(*args)
    monkeypatch.undo()
    return readings[0] / 1000


@pytest.mark.parametrize("held_s", [0.05, 0.2])
def test_each_call_is_held_up_for_the_time_that_was_planted(
    held_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = loaded(held_up(PLAIN, "decode", held_s))
    assert names["decode"](1) == 2
    for _ in range(2):
        assert held(names["decode"], 1, monkeypatch=monkeypatch) == pytest.approx(held_s, abs=0.003)
    assert held(names["other"], 1, monkeypatch=monkeypatch) == 0.0


def test_the_rest_of_the_file_is_untouched() -> None:
    planted = held_up(PLAIN, "decode", 0.1)
    lines = planted.splitlines()
    added = [line for line in lines if b"_held" in line]
    assert len(added) == 2
    assert [line for line in lines if b"_held" not in line] == PLAIN.splitlines()
    assert lines.index(added[0]) == 7  # behind the docstring
    function = ast.parse(planted).body[2]
    assert isinstance(function, ast.FunctionDef)
    assert ast.get_docstring(function) == "Docstrings stay first."


@pytest.mark.parametrize(
    ("text", "function"),
    [
        (b"class Kernel:\n\tdef run(self):\n\t\treturn 3\n", "Kernel.run"),
        (b"def run():\r\n    return 3\r\n", "run"),
        (b"def run():\n    @staticmethod\n    def inner(): pass\n    return 3\n", "run"),
        (b'def run():\n    "only this"\n', "run"),
        (b"def run(): pass\ndef run():\n    return 3\n", "run"),
    ],
)
def test_other_shapes_of_a_function_can_be_held_up_too(text: bytes, function: str) -> None:
    planted = held_up(text, function, 0.0001)
    assert planted.count(b"_held_until_s") == 2
    names = loaded(planted)
    owner, _, name = function.rpartition(".")
    assert (getattr(names[owner](), name) if owner else names[name])() in (3, None)


@pytest.mark.parametrize(
    ("text", "function", "words"),
    [
        (PLAIN, "nobody", "defines no nobody"),
        (PLAIN, "decode.inner", "defines no decode.inner"),
        (b"def run(): return 3\n", "run", "on the line of its head"),
        (b"import triton\n@triton.jit\ndef run():\n    pass\n", "run", "is decorated"),
        (b"def run(:\n", "run", "cannot be parsed"),
        (b"\x00", "run", "cannot be parsed"),
    ],
)
def test_where_nothing_can_be_planted_it_is_said(text: bytes, function: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        held_up(text, function, 0.1)

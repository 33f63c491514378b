"""Fingerprints of code: equal for equal code wherever it lies, different for any other."""

import os
import subprocess
import sys
import types

import pytest

from abtest.probe.code import compile_source, digest, live_functions, nested_digests

BASE = b"def f(a, *, b=1):\n    return a + b\n"


def of(source: bytes, path: str = "x.py") -> str:
    return digest(compile_source(source, path))


def test_the_place_of_the_file_does_not_matter() -> None:
    assert of(BASE, "here.py") == of(BASE, "/there/else.py")


@pytest.mark.parametrize(
    "other",
    [
        b"def f(a, *, b=1):\n    return a - b\n",  # bytecode
        b"def f(a, *, b=2):\n    return a + b\n",  # a constant
        b"def f(a, *, b=True):\n    return a + b\n",  # equal to 1, and another constant
        b"def f(a, *, b=1.0):\n    return a + b\n",
        b"def f(a, *, c=1):\n    return a + c\n",  # a name
        b"def g(a, *, b=1):\n    return a + b\n",
        b"def f(a, b=1):\n    return a + b\n",  # argument kinds
        b"\ndef f(a, *, b=1):\n    return a + b\n",  # line numbers
        b"async def f(a, *, b=1):\n    return a + b\n",  # flags
        b"from __future__ import annotations\ndef f(a, *, b=1):\n    return a + b\n",
    ],
)
def test_any_other_code_has_another_digest(other: bytes) -> None:
    assert of(other) != of(BASE)


def test_comments_are_no_code() -> None:
    assert of(BASE) == of(BASE + b"# comment\n")


def test_a_change_deep_inside_shows_outside() -> None:
    source = b"class A:\n    def f(self):\n        return lambda: [x for x in (1, %d)]\n"
    assert of(source % 2) != of(source % 3)
    assert digest(compile_source(source % 2, "x.py")) in nested_digests(
        compile_source(source % 2, "x.py")
    )


def test_running_does_not_change_a_digest() -> None:
    """Interpreters since 3.11 rewrite bytecode while it runs."""
    space: dict[str, types.FunctionType] = {}
    exec(BASE, space)
    before = digest(space["f"].__code__)
    for number in range(5000):
        space["f"](number)
    assert digest(space["f"].__code__) == before


def test_digests_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from abtest.probe.code import *\n"
        'text = b\'x in {"a", "b", "c", "d"}\\n'
        "class A:\\n    def f(self):\\n        self.p = self.q = self.r = self.s = 1\\n"
        "big = 0x" + "f" * 5000 + "'\n"
        "print(digest(compile_source(text, 'x.py')))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in range(1, 5)
    }
    assert len(seen) == 1


def test_live_functions_are_found_where_they_hide() -> None:
    module = types.ModuleType("m")
    exec(
        "import os.path\n"
        "class A:\n"
        "    class B:\n"
        "        def f(self): pass\n"
        "    me = B\n"
        "    @staticmethod\n"
        "    def s(): pass\n"
        "    @property\n"
        "    def p(self): pass\n"
        "    @p.setter\n"
        "    def p(self, value): pass\n"
        "A.again = A\n"
        "def f(): pass\n"
        "value = 3\n",
        module.__dict__,
    )
    assert set(live_functions(module)) == {"A.B.f", "A.s", "A.p.fget", "A.p.fset", "f"}

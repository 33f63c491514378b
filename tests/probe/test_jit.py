"""Triton functions, by stand-ins that look like them: identity by source text, binaries and tuning."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from abtest.probe import identity, jit

TEXT = """\
import fake_triton

@fake_triton.autotune
@fake_triton.jit
def kernel(x, BLOCK):
    return x + BLOCK

@fake_triton.jit
def other(x):
    return x
"""

FAKE = """\
import inspect
from types import SimpleNamespace

class JITFunction:
    def __init__(self, fn):
        self.fn = fn
        self.raw_src = inspect.getsourcelines(fn)[0]
        compiled = SimpleNamespace(asm={"ptx": "text", "cubin": b"binary of " + fn.__name__.encode()})
        self.device_caches = {0: ({"key": compiled}, None)}

    @property
    def cache_key(self):
        if self.fn.__name__ == "other":
            raise RuntimeError("no driver")
        return "key of " + self.fn.__name__

class Autotuner:
    def __init__(self, fn):
        self.fn, self.cache = fn, {("f16", 256): "BLOCK: 64"}

jit, autotune = JITFunction, Autotuner
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ModuleType]:
    """Import the module `tuned` afresh."""
    (tmp_path / "fake_triton.py").write_text(FAKE)
    (tmp_path / "tuned.py").write_text(TEXT)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load() -> ModuleType:
        for name in ("tuned", "fake_triton"):
            sys.modules.pop(name, None)
        return __import__("tuned")

    return load


def test_source_key_binary_and_choice_are_told(load: Callable[[], ModuleType]) -> None:
    facts, strange = jit.describe(load(), TEXT)
    assert facts is not None
    assert strange == []
    assert facts["kernel.cache_key"] == "key of kernel"
    assert facts["kernel.binaries"].startswith("cubin:")
    assert facts["kernel.autotuned"] == "('f16', 256) -> BLOCK: 64"
    assert facts["other.cache_key"] == "unknown: RuntimeError"
    assert facts["other.binaries"] != facts["kernel.binaries"]
    assert "other.autotuned" not in facts


def test_a_function_that_was_compiled_from_another_text_is_a_mismatch(
    load: Callable[[], ModuleType], tmp_path: Path
) -> None:
    module: Any = load()
    (tmp_path / "tuned.py").write_text(TEXT.replace("x + BLOCK", "x - BLOCK"))
    said = identity.report("tuned.py", "before", None)
    assert said is not None
    assert said["strange"] == ["kernel (Triton source)"]
    assert said["match"] is False
    assert said["triton"]["kernel.cache_key"] == "key of kernel"
    assert module.kernel.fn.raw_src


def test_a_module_without_such_functions_has_none() -> None:
    module = ModuleType("plain")
    module.__dict__["value"] = SimpleNamespace(cache={})
    assert jit.describe(module, "") == (None, [])

"""What a process says of its target, where other hands have been at the module."""

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from abtest.probe import hook as hooks
from abtest.probe import identity
from abtest.probe.request import Routes

SOURCE = """
import contextlib, dataclasses, functools
from os.path import join

@dataclasses.dataclass
class Point:
    x: int = 0
    @property
    def double(self): return self.x * 2
    @classmethod
    def make(cls): return cls(1)

@contextlib.contextmanager
def scope(): yield

@functools.lru_cache(None)
def cached(): return 1

def decode(a): return a + 1
def helper(a): return a - 1
"""
TARGET = "sample_pack/kernel.py"

Load = Callable[[], tuple[ModuleType, hooks.Hook]]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    kernel = tmp_path / TARGET
    kernel.parent.mkdir()
    (kernel.parent / "__init__.py").touch()
    kernel.write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return kernel


@pytest.fixture
def load(kernel: Path) -> Iterator[Load]:
    assert kernel.exists()

    def run() -> tuple[ModuleType, hooks.Hook]:
        hook = hooks.install([TARGET], Routes("sample_pack.kernel:decode", ("a",)))
        return importlib.import_module("sample_pack.kernel"), hook

    yield run
    hooks.uninstall()
    for name in ("sample_pack", "sample_pack.kernel"):
        sys.modules.pop(name, None)


def describe(hook: hooks.Hook | None) -> dict[str, Any]:
    entry = identity.report(TARGET, "before", hook)
    assert entry is not None
    return entry


def test_generated_and_decorated_code_is_no_mismatch(load: Load) -> None:
    """Dataclass methods and foreign decorators are code of other files, put there by the import itself."""
    _, hook = load()
    entry = describe(hook)
    assert (entry["match"], entry["strange"]) == (True, [])


def _other(*_: object) -> int:
    return 7


@pytest.mark.parametrize(
    ("name", "value", "strange"),
    [
        ("decode", _other, "decode"),
        ("helper", _other, "helper"),
        ("helper", functools.partial(_other), "helper"),
        ("scope", _other, "scope"),
        ("join", _other, "join"),
        ("Point.double", property(_other), "Point.double.fget"),
        ("Point.make", classmethod(_other), "Point.make"),
        ("Point.__init__", _other, "Point.__init__"),
        ("Point.__eq__", _other, "Point.__eq__"),
    ],
)
def test_a_patch_is_named(load: Load, name: str, value: object, strange: str) -> None:
    module, hook = load()
    *owners, last = name.split(".")
    setattr(functools.reduce(getattr, owners, module), last, value)
    entry = describe(hook)
    assert (entry["match"], entry["strange"]) == (False, [strange])


def test_a_patch_that_copies_our_wrappers_marks_is_named(load: Load) -> None:
    module, hook = load()
    module.decode = functools.wraps(module.decode)(_other)  # type: ignore[attr-defined]  # a patch
    assert describe(hook)["strange"] == ["decode"]


def test_code_put_into_a_function_is_named(load: Load) -> None:
    module, hook = load()
    assert isinstance(module.helper, FunctionType)
    module.helper.__code__ = (lambda _: 7).__code__
    assert describe(hook)["strange"] == ["helper"]


def test_a_function_of_the_file_may_take_the_place_of_another(load: Load) -> None:
    """Dispatch tables are filled like this: it is still the file's own code."""
    module, hook = load()
    module.decode = module.helper  # type: ignore[attr-defined]  # a dispatch
    assert describe(hook)["match"] is True


def test_a_module_that_nobody_saw_loading_proves_nothing(kernel: Path, load: Load) -> None:
    importlib.import_module("sample_pack.kernel")
    _, hook = load()
    assert hook.late == [TARGET]
    entry = describe(hook)
    assert (entry["match"], entry["unseen"]) == (False, True)
    assert entry["path"] == str(kernel)


@pytest.mark.parametrize("text", ["# a comment more\n", "def decode(:\n"])
def test_a_file_that_changed_since_its_import_is_told(kernel: Path, load: Load, text: str) -> None:
    _, hook = load()
    kernel.write_text(SOURCE + text)
    entry = describe(hook)
    assert entry["changed"] is True


def test_a_file_that_is_gone_is_told(kernel: Path, load: Load) -> None:
    _, hook = load()
    kernel.unlink()
    entry = describe(hook)
    assert entry["match"] is False
    assert "FileNotFoundError" in entry["unreadable"]


def test_a_target_that_was_never_imported_has_no_identity(kernel: Path) -> None:
    assert kernel.exists()
    assert identity.report(TARGET, "before", None) is None

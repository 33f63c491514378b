"""A file's md5 does not prove that its code ran: stale bytecode of every kind (cases A1 to A5)."""

import importlib.util
import json
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

OLD = "def answer():\n    return 111\n"
NEW = "def answer():\n    return 222\n"
ASK = """
import json, sys
sys.path.insert(0, {library!r})
from abtest.probe import hook, identity
seen = hook.install([{target!r}], None) if {hooked} else None
import pack.kernel
entry = identity.report({target!r}, "before", seen)
print(json.dumps([pack.kernel.answer(), entry]))
"""
TARGET = "pack/kernel.py"

Ask = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A package whose kernel was imported once, so that its bytecode lies in the usual place."""
    kernel = tmp_path / "library" / TARGET
    kernel.parent.mkdir(parents=True)
    (kernel.parent / "__init__.py").touch()
    kernel.write_text(OLD)
    return kernel


@pytest.fixture
def ask(kernel: Path, site: Path) -> Ask:
    """Import the kernel in a fresh process; returns what it answers, and its identity."""

    def run(*, hooked: bool = True, target: str = TARGET, **env: str) -> tuple[int, dict[str, Any]]:
        code = ASK.format(library=str(kernel.parent.parent), target=target, hooked=hooked)
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(site), **env},
            check=True,
            capture_output=True,
        )
        answer, entry = json.loads(done.stdout)
        return answer, entry

    return run


def swap_unnoticed(kernel: Path) -> None:
    """Other code of the same size and mtime: what a .pyc is checked against does not change."""
    before = kernel.stat()
    kernel.write_text(NEW)
    os.utime(kernel, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert kernel.stat().st_size == before.st_size


def test_a1_stale_bytecode_runs_without_the_hook_and_is_found_out(kernel: Path, ask: Ask) -> None:
    assert ask(hooked=False)[0] == 111
    swap_unnoticed(kernel)
    answer, entry = ask(hooked=False)
    assert answer == 111  # the trap itself: else this test would prove nothing
    assert entry["match"] is False
    assert entry["strange"] == ["answer"]


def test_a1_with_the_hook_the_new_code_runs(kernel: Path, ask: Ask) -> None:
    assert ask(hooked=False)[0] == 111
    swap_unnoticed(kernel)
    answer, entry = ask()
    assert (answer, entry["match"]) == (222, True)
    assert entry["loaded_code"] == entry["compiled_code"]


def test_a1_the_hook_leaves_no_bytecode_of_the_target_behind(kernel: Path, ask: Ask) -> None:
    ask()
    cache = kernel.parent / "__pycache__"
    assert [path.name for path in cache.glob("kernel*")] == []
    assert list(cache.glob("__init__*"))  # others are cached as ever


def test_a2_a_cache_outside_of_the_tree_is_passed_by(
    kernel: Path, ask: Ask, tmp_path: Path
) -> None:
    prefix = str(tmp_path / "caches")
    assert ask(hooked=False, PYTHONPYCACHEPREFIX=prefix)[0] == 111
    swap_unnoticed(kernel)
    assert ask(hooked=False, PYTHONPYCACHEPREFIX=prefix)[0] == 111
    answer, entry = ask(PYTHONPYCACHEPREFIX=prefix)
    assert (answer, entry["match"], entry["pycache_prefix"]) == (222, True, prefix)


def test_a3_bytecode_that_the_image_brought_along_is_passed_by(
    kernel: Path, ask: Ask, tmp_path: Path
) -> None:
    foreign = tmp_path / "kernel.py"
    foreign.write_text(OLD)
    kernel.write_text(NEW)
    os.utime(foreign, ns=(kernel.stat().st_atime_ns, kernel.stat().st_mtime_ns))
    cached = Path(importlib.util.cache_from_source(str(kernel)))
    cached.parent.mkdir()
    shutil.copy(str(py_compile.compile(str(foreign))), cached)
    assert ask(hooked=False)[0] == 111
    answer, entry = ask()
    assert (answer, entry["match"]) == (222, True)


def test_a4_bytecode_that_is_never_checked_is_passed_by(kernel: Path, ask: Ask) -> None:
    py_compile.compile(str(kernel), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    kernel.write_text(NEW + "# of another size too\n")
    answer, entry = ask(hooked=False)
    assert (answer, entry["match"]) == (111, False)
    answer, entry = ask()
    assert (answer, entry["match"]) == (222, True)


def test_a5_a_copy_that_is_never_imported_is_named(kernel: Path, ask: Ask, tmp_path: Path) -> None:
    other = tmp_path / "other" / TARGET
    other.parent.mkdir(parents=True)
    (other.parent / "__init__.py").touch()
    other.write_text(NEW)
    linked = tmp_path / "linked"
    linked.symlink_to(kernel.parent.parent)  # the same file by another way is no copy
    site = str(tmp_path / "site")
    answer, entry = ask(PYTHONPATH=f"{site}:{tmp_path / 'other'}:{linked}")
    assert answer == 111
    assert entry["path"] == str(kernel)
    assert entry["copies"] == [str(other)]


def test_an_absolute_target_is_hooked_like_a_relative_one(kernel: Path, ask: Ask) -> None:
    assert ask(hooked=False)[0] == 111
    swap_unnoticed(kernel)
    answer, entry = ask(target=str(kernel))
    assert (answer, entry["match"], entry["unseen"]) == (222, True, False)


def test_an_absolute_target_has_copies_too(kernel: Path, ask: Ask, tmp_path: Path) -> None:
    other = tmp_path / "other" / TARGET
    other.parent.mkdir(parents=True)
    other.write_text(NEW)
    path = f"{tmp_path / 'site'}:{tmp_path / 'other'}"
    assert ask(target=str(kernel), PYTHONPATH=path)[1]["copies"] == [str(other)]

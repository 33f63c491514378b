"""Identity of shared libraries: the mapped file, and the memory against it."""

import _ctypes
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from abtest.probe.hook import is_library
from abtest.probe.library import executable

ASK = """
import ctypes, json, os, shutil, sys
sys.path.insert(0, sys.argv[1])
from abtest.probe import library
kept = [ctypes.CDLL(path) for path in sys.argv[3].split(":") if path]
exec(sys.argv[4])
print(json.dumps(library.report(sys.argv[2], "after")))
"""
SOURCE = Path(_ctypes.__file__)


def ask(site: Path, target: str, loaded: str, then: str = "pass") -> Any:
    done = subprocess.run(
        [sys.executable, "-S", "-c", ASK, str(site), target, loaded, then],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture
def native(tmp_path: Path) -> Path:
    path = tmp_path / "pkg" / "native.so"
    path.parent.mkdir()
    shutil.copy(SOURCE, path)
    return path


def test_a_mapped_library_is_told_and_its_memory_matches(site: Path, native: Path) -> None:
    entry = ask(site, "pkg/native.so", str(native))
    assert entry["path"] == str(native)
    assert entry["match"]
    assert entry["loaded_code"] == entry["compiled_code"]
    assert not entry["copies"]


def test_a_library_that_is_not_loaded_is_not_claimed(site: Path, native: Path) -> None:
    assert native.exists()
    assert ask(site, "pkg/native.so", "") is None


def test_a_library_replaced_after_it_was_loaded_does_not_match(site: Path, native: Path) -> None:
    """A8, F-kind: the file on disk is fine and new, memory still shows the old one."""
    swap = f"shutil.copy({str(native)!r}, {str(native)!r} + '.new'); os.replace({str(native)!r} + '.new', {str(native)!r})"
    entry = ask(site, "pkg/native.so", str(native), swap)
    assert entry["changed"]
    assert not entry["match"]


def test_code_patched_in_memory_does_not_match(site: Path, native: Path) -> None:
    patch = (
        "m = [one for one in library.executable(open('/proc/self/maps').read()) if one.path.endswith('native.so')][0];"
        "libc = ctypes.CDLL(None);"
        "assert libc.mprotect(ctypes.c_void_p(m.start), ctypes.c_size_t(m.size), 7) == 0;"
        "ctypes.memset(m.start + m.size // 2, 0x90, 16)"
    )
    entry = ask(site, "pkg/native.so", str(native), patch)
    assert not entry["match"]
    assert entry["loaded_code"] != entry["compiled_code"]


def test_a5_a_second_copy_that_is_loaded_too_is_named(
    site: Path, native: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "pkg" / "native.so"
    other.parent.mkdir(parents=True)
    shutil.copy(SOURCE, other)
    entry = ask(site, "pkg/native.so", f"{native}:{other}")
    assert not entry["match"]
    assert len(entry["copies"]) == 1
    assert "is loaded as well" in entry["strange"][0]


def test_only_executable_mappings_of_files_count() -> None:
    maps = (
        "7f00-7f10 r--p 00000000 fd:00 12   /lib/a.so\n"
        "7f10-7f20 r-xp 00000010 fd:00 12   /lib/a.so\n"
        "7f30-7f40 r-xp 00000000 00:00 0    [vdso]\n"
        "7f50-7f60 r-xp 00000000 00:00 0 \n"
    )
    assert [one.offset for one in executable(maps)] == [0x10]
    assert is_library("vllm/_C.abi3.so")
    assert not is_library("vllm/kernel.py")

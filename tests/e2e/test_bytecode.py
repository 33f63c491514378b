"""Stale bytecode of other code lies where Python would take it from: the arm's source runs all the same."""

import os
import py_compile
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RAN = (0, 5)
EVIL = (
    "    use_splitkv = False",
    "    use_splitkv = True ",
)  # as long as the original; its own assertion fails


def stale_bytecode(source: Path, place: Path, mode: py_compile.PycInvalidationMode) -> None:
    """Compile other code of the same size and time to where the source's bytecode belongs."""
    text = source.read_text()
    assert text.count(EVIL[0]) == 1
    evil = source.with_name("evil.py")
    evil.write_text(text.replace(*EVIL))
    assert evil.stat().st_size == source.stat().st_size
    stamp = source.stat()
    os.utime(evil, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    place.parent.mkdir(parents=True, exist_ok=True)
    py_compile.compile(
        str(evil), cfile=str(place), dfile=str(source), doraise=True, invalidation_mode=mode
    )
    evil.unlink()


def check(lab: Any, **environment: str) -> None:
    """Show first that a plain interpreter falls for it; else the rest would pass for nothing."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from refengine.ops import paged_attention as p; print(True in p.decode.__code__.co_consts)"
    command = [sys.executable, "-c", code, str(lab.folder / "lib")]
    plain = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    assert plain.stdout == "True\n"
    assert lab.run() in RAN
    assert all(trial["status"] == "ok" for trial in lab.trials())
    assert all(entry["match"] for trial in lab.trials() for entry in trial["identity"])


@pytest.mark.parametrize(
    "mode",
    [py_compile.PycInvalidationMode.TIMESTAMP, py_compile.PycInvalidationMode.UNCHECKED_HASH],
    ids=["a1_same_size_and_time", "a3_a4_foreign_unchecked_hash"],
)
def test_stale_bytecode_beside_the_target_is_not_run(
    mode: py_compile.PycInvalidationMode, lab: Any
) -> None:
    source = lab.engine / "ops" / "paged_attention.py"
    place = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
    stale_bytecode(source, place, mode)
    check(lab)


def test_a2_stale_bytecode_below_a_cache_prefix_is_not_run_and_the_prefix_is_recorded(
    lab: Any,
) -> None:
    source = lab.engine / "ops" / "paged_attention.py"
    prefix = lab.folder / "lib" / "prefix"
    name = f"{source.stem}.{sys.implementation.cache_tag}.pyc"
    stale_bytecode(
        source,
        prefix / source.parent.relative_to("/") / name,
        py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    path = lab.folder / "experiment.yaml"
    path.write_text(path.read_text() + f"container: {{env: {{PYTHONPYCACHEPREFIX: {prefix}}}}}\n")
    check(lab, PYTHONPYCACHEPREFIX=str(prefix))
    prefixes = {entry["pycache_prefix"] for trial in lab.trials() for entry in trial["identity"]}
    assert prefixes == {str(prefix)}

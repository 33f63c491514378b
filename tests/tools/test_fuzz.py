"""The long fuzzing: it counts what was tried, and a property that fails is told by its exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

PROFILE = """\
from hypothesis import settings

settings.register_profile("fuzz", max_examples=20)
"""
PROPERTY = """\
from hypothesis import given, strategies as st

@given(st.integers())
def test_something(number):
    assert number {what}
"""


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("what", "code"), [("== number", 0), ("< 100", 1)])
def test_a_failing_property_is_counted_and_told(
    what: str, code: int, tmp_path: Path, repository: Path
) -> None:
    (tmp_path / "conftest.py").write_text(PROFILE)
    file = tmp_path / "test_planted.py"
    file.write_text(PROPERTY.format(what=what))
    done = subprocess.run(
        [sys.executable, "-m", "tools.fuzz", "--minutes", "0", "--tests", str(file)],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    (row,) = [line for line in done.stdout.splitlines() if "test_planted.py::" in line]
    assert row.startswith("| test_planted.py::test_something | ")
    assert row.endswith(" | 0 |") == (code == 0)
    assert f"{code} rounds failed" in done.stdout


def test_no_property_at_all_is_no_success(tmp_path: Path, repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.fuzz", "--minutes", "0", "--tests", str(tmp_path)],
        cwd=repository,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1

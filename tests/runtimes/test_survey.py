"""What a survey without a container engine reads, and from where."""

import hashlib
import sys
from pathlib import Path

import pytest

from abtest.cli.main import main

TARGET = "refengine/ops/paged_attention.py"


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder holds a package of the engine's name."""
    file = tmp_path / TARGET
    file.parent.mkdir(parents=True)
    for folder in (file.parent, file.parent.parent):
        (folder / "__init__.py").touch()
    file.write_text("VERSION = 'of somebody else'\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("other")
def test_a_package_in_the_working_folder_is_not_the_engines(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arm = [str(repository / "arms" / "reference"), "stock"]
    assert main(["show-arm", *arm, "--runtime", "process"]) == 0
    own = (repository / "arms" / "reference" / TARGET).read_bytes()
    assert hashlib.md5(own).hexdigest() in capsys.readouterr().out


def test_a_relative_interpreter_is_found_from_where_the_user_is(
    other: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (other / "bin").mkdir()
    starter = other / "bin" / "python"
    starter.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    starter.chmod(0o755)
    text = (repository / "arms" / "reference" / "experiment.yaml").read_text()
    library = repository / "arms" / "reference"
    text = text.replace("pythonpath: [.]", f"pythonpath: [{library}]\n  python: ./bin/python")
    (other / "experiment.yaml").write_text(
        text.replace("file: splitkv.py", f"file: {library / 'splitkv.py'}")
    )
    assert main(["show-arm", str(other), "stock", "--runtime", "process"]) == 0
    assert Path(TARGET).name in capsys.readouterr().out

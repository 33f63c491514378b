"""Hostile experiments: no shell, no way out, nothing of theirs acts on a terminal or a page."""

import os
from pathlib import Path
from typing import Any

import pytest

from abtest.cli.main import main

pytestmark = pytest.mark.docker
Lab = Any  # of this folder's conftest
NASTY = "$(touch /tmp/pwned); `touch /tmp/pwned` && touch /tmp/pwned #"


def test_shell_characters_stay_text_wherever_a_user_can_write_them(
    lab: Lab, tmp_path: Path
) -> None:
    planted = tmp_path / "pwned"
    nasty = NASTY.replace("/tmp/pwned", str(planted))
    name = "a b;touch pwned.py"
    text = (lab.engine / "ops" / "paged_attention.py").read_text()
    (lab.folder / name).write_text(text.replace("context > 100_000", "context > 1"))
    lab.plant(
        "experiment.yaml",
        'fast: {replace: [{old: "context > 100_000", new: "context > 1"}]}',
        f'fast: {{file: "{name}", env: {{NASTY: "{nasty}"}}}}',
    )
    assert lab.run() in {0, 5}
    assert not planted.exists()
    fast = [trial for trial in lab.trials() if trial["arm"] == "fast"]
    assert {trial["environment"]["env.NASTY"] for trial in fast} == {
        nasty.replace("/tmp/", "<tmp>/")  # folders are recorded by their meaning
    }


def test_escapes_that_the_engine_prints_are_shown_not_obeyed(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    start = lab.engine / "__init__.py"
    start.write_text(
        start.read_text().replace(
            "import os\n",
            'import os\nraise SystemExit("\\x1b]0;owned\\x07\\x1b[2J<script>alert(1)</script>")\n',
            1,
        )
    )
    main(["run", str(lab.folder), "--results", str(lab.results)])
    said = capsys.readouterr()
    assert "owned" in said.out + said.err
    assert "\x1b]" not in said.out + said.err
    assert "\x1b[2J" not in said.out + said.err


def test_the_images_own_folders_may_change_only_inside_the_container(lab: Lab) -> None:
    """The root is writable there, for engines that need it; nothing of it reaches the next trial or the image."""
    if os.geteuid() != 0:
        pytest.skip("only root may write there")
    start = lab.engine / "__init__.py"
    text = start.read_text()
    mark = 'import os\nopen("/opt/mark", "x").close()\n'  # fails where a mark of an earlier trial is left
    start.write_text(
        text.replace("import os\n", mark, 1).replace(
            "import os\nopen", "import os\nif os.getpid() == 1: open"
        )
    )
    assert lab.run() in {0, 5}
    assert [trial["status"] for trial in lab.trials()] == ["ok"] * 6

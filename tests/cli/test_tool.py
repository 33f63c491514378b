"""Which abtest it was: the commit is read from the repository's own files, in every form that they take."""

from pathlib import Path

import pytest

from abtest import __version__
from abtest.cli.tool import tool_facts

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    "files",
    [
        {".git/HEAD": f"{COMMIT}\n"},
        {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": f"{COMMIT}\n"},
        {".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": f"# x\n{COMMIT} refs/heads/main\n"},
        {
            ".git": "gitdir: main/.git/worktrees/w\n",
            "main/.git/worktrees/w/HEAD": "ref: refs/heads/w\n",
            "main/.git/refs/heads/w": f"{COMMIT}\n",
        },
    ],
)  # fmt: skip
def test_the_commit_is_found(tmp_path: Path, files: dict[str, str]) -> None:
    assert tool_facts(write(tmp_path, files)) == {
        "abtest.version": __version__,
        "abtest.commit": COMMIT[:12],
    }


def test_without_a_repository_there_is_a_version_only(tmp_path: Path) -> None:
    assert tool_facts(tmp_path) == {"abtest.version": __version__}
    write(tmp_path, {".git/HEAD": "ref: refs/heads/gone\n"})
    assert tool_facts(tmp_path) == {"abtest.version": __version__}

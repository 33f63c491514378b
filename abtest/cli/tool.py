"""Which abtest this is: its version, and its commit where it runs from a repository."""

from pathlib import Path

from abtest import __version__


def tool_facts(root: Path = Path(__file__).parents[2]) -> dict[str, str]:
    """Give what every record says of the tool.

    Args:
        root: the folder that would hold the repository.
    """
    found = {"abtest.version": __version__}
    commit = _commit(root / ".git")
    return found if commit is None else {**found, "abtest.commit": commit}


def _commit(git: Path) -> str | None:
    """Read the commit from the repository's own files; starting git for one word would cost more than it tells."""
    try:
        if git.is_file():  # a work tree of its own points elsewhere
            git = (git.parent / git.read_text(encoding="utf-8").partition(":")[2].strip()).resolve()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head[:12]
        name = head.removeprefix("ref: ")
        for folder in (git, git / ".." / ".."):
            if (folder / name).is_file():
                return (folder / name).read_text(encoding="utf-8").strip()[:12]
        packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
        return next((line[:12] for line in packed if line.endswith(f" {name}")), None)
    except OSError:
        return None

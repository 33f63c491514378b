"""A file out of a git repository: the commit is looked up once, and nothing of the repository is run."""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from abtest.errors import InfrastructureError, SpecError

FETCH_S = 600
REMOTE = re.compile(r"(https?|ssh|git|file)://.+|[\w.-]+@[\w.-]+:.+")
SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "safe.directory=*")
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file",
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}
INHERITED_BY_HOOKS = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
)


@dataclass(frozen=True, slots=True)
class Blob:
    """A file's bytes and the commit they are from."""

    content: bytes
    commit: str


def is_remote(repo: str) -> bool:
    """Tell a URL from a folder."""
    return REMOTE.fullmatch(repo) is not None


def without_credentials(text: str) -> str:
    """Take user names and passwords out of URLs.

    >>> without_credentials("https://me:token@host/x.git")
    'https://host/x.git'
    """
    return re.sub(r"//[^/@\s]*@", "//", text)


def read_remote(repo: str, ref: str, path: str, where: str) -> Blob:
    """Fetch one commit, without its history, and read one file of it.

    Raises:
        InfrastructureError: git is missing, or the repository cannot be reached.
        SpecError: it has no such ref or file.
    """
    with tempfile.TemporaryDirectory(prefix="abtest-git-") as made:
        folder = Path(made)
        _git(folder, "init", "--quiet", "--bare", ".")
        _git(folder, "remote", "add", "--", "origin", repo)
        fetch = ("fetch", "--quiet", "--depth", "1", "--no-tags", "--filter=blob:none")
        found = _run(folder, *fetch, "--", "origin", ref)
        if found.returncode != 0:
            raise _why_not_fetched(found.stderr, repo, ref, where)
        return _read(folder, "FETCH_HEAD", ref, path, where)


def read_local(repo: Path, ref: str, path: str, where: str) -> Blob:
    """Read one file of a commit from a repository on this machine; its work tree is not looked at.

    Raises:
        SpecError: it is no repository, or has no such ref or file.
    """
    if _run(repo, "rev-parse", "--git-dir").returncode != 0:
        raise SpecError(
            f"{where}: {repo} is not a git repository", remedy="Name its folder, or a URL."
        )
    for name in (ref, f"refs/{ref}", f"refs/remotes/origin/{ref}"):
        if _run(repo, *_LOOK_UP, f"{name}^{{commit}}").returncode == 0:
            return _read(repo, name, ref, path, where)
    raise SpecError(
        f"{where}: {repo} has no ref {ref!r}", remedy="Fetch it there, or give another."
    )


_LOOK_UP = ("rev-parse", "--verify", "--quiet", "--end-of-options")


def _read(folder: Path, name: str, ref: str, path: str, where: str) -> Blob:
    commit = _git(folder, *_LOOK_UP, f"{name}^{{commit}}").decode().strip()
    listed = _git(folder, "ls-tree", "-z", commit, "--", path).decode("utf-8", "replace")
    if not listed.startswith("100"):
        kind = "a link or a folder" if listed else "not there"
        raise SpecError(
            f"{where}: {path} is {kind} at {ref} (commit {commit[:12]})",
            remedy="Give `path`, from the repository's top.",
        )
    return Blob(_git(folder, "cat-file", "blob", f"{commit}:{path}"), commit)


def _why_not_fetched(
    stderr: bytes, repo: str, ref: str, where: str
) -> SpecError | InfrastructureError:
    said = without_credentials(stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
    name = without_credentials(repo)
    if "find remote ref" in said or "not our ref" in said or "no such remote ref" in said.lower():
        return SpecError(
            f"{where}: {name} has no ref {ref!r} ({said})",
            remedy="Give a branch, a tag, pull/NNN/head, or all 40 digits of a commit.",
        )
    return InfrastructureError(
        f"{where}: {name} cannot be fetched: {said}",
        remedy="Check the network and your right to read it, or clone it and name the folder.",
    )


def _git(folder: Path, *arguments: str) -> bytes:
    done = _run(folder, *arguments)
    if done.returncode != 0:
        said = without_credentials(done.stderr.decode("utf-8", "replace").strip())
        raise InfrastructureError(
            f"git {arguments[0]} failed: {said}", remedy="Look at the repository."
        )
    return done.stdout


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {
        name: value for name, value in os.environ.items() if name not in INHERITED_BY_HOOKS
    }
    command = ["git", *SAFE, "-C", str(folder), *arguments]
    try:
        return subprocess.run(
            command,
            env={**environment, **ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=FETCH_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise InfrastructureError("git is not installed", remedy="Install git.") from error
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(
            f"git {arguments[0]} took over {FETCH_S} s",
            remedy="Check the network, or clone the repository and name the folder.",
        ) from error

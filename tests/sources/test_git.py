"""Arms out of git repositories: the commit is recorded, nothing of the repository runs."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from abtest.errors import AbtestError, InfrastructureError, SpecError
from abtest.sources.git import Blob, is_remote, read_local, read_remote, without_credentials


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


Reader = Callable[[Path, str, str], Blob]


def local(folder: Path, ref: str, path: str) -> Blob:
    return read_local(folder, ref, path, "arm fast")


def remote(folder: Path, ref: str, path: str) -> Blob:
    return read_remote(f"file://{folder}", ref, path, "arm fast")


@pytest.fixture
def repository_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "pkg").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    for text in ("one\n", "two\n"):
        (folder / "pkg" / "kernel.py").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", text)
    git(folder, "tag", "v1", "HEAD~1")
    git(folder, "update-ref", "refs/pull/7/head", "HEAD~1")
    (folder / "link.py").symlink_to("/etc/hostname")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "link")
    return folder


@pytest.mark.parametrize(
    ("ref", "text"),
    [("main", b"two\n"), ("v1", b"one\n"), ("pull/7/head", b"one\n"), ("SHA", b"one\n")],
)
@pytest.mark.parametrize("read", [local, remote])
def test_branch_tag_pull_and_commit_lead_to_their_file(
    repository_folder: Path, ref: str, text: bytes, read: Reader
) -> None:
    first = git(repository_folder, "rev-parse", "v1")
    ref = first if ref == "SHA" else ref
    blob = read(repository_folder, ref, "pkg/kernel.py")
    assert blob.content == text
    assert blob.commit == git(
        repository_folder, "rev-parse", f"{first if ref != 'main' else 'main'}"
    )


def test_the_work_tree_is_not_what_counts(repository_folder: Path) -> None:
    (repository_folder / "pkg" / "kernel.py").write_text("not committed\n")
    assert read_local(repository_folder, "main", "pkg/kernel.py", "arm").content == b"two\n"


@pytest.mark.parametrize(
    ("ref", "path", "said"),
    [
        ("nope", "pkg/kernel.py", "no ref 'nope'"),
        ("main", "pkg/none.py", "not there"),
        ("main", "link.py", "a link"),
        ("main", "pkg", "a link or a folder"),
        ("main", ":(glob)**/kernel.py", "not there"),
    ],
)
@pytest.mark.parametrize("read", [local, remote])
def test_what_is_not_in_the_repository_is_refused(
    repository_folder: Path, ref: str, path: str, said: str, read: Reader
) -> None:
    with pytest.raises(SpecError, match=said) as caught:
        read(repository_folder, ref, path)
    assert caught.value.exit_code == 2


def test_no_hook_of_the_repository_or_of_the_user_runs(
    repository_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "post-merge"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (hooks / name).chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(f"[core]\n\thooksPath = {hooks}\n\tfsmonitor = {hooks}/post-merge\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    git(repository_folder, "config", "core.hooksPath", str(hooks))
    read_local(repository_folder, "main", "pkg/kernel.py", "arm")
    read_remote(f"file://{repository_folder}", "main", "pkg/kernel.py", "arm")
    assert not (tmp_path / "ran").exists()
    git(repository_folder, "update-ref", "refs/heads/other", "main")
    assert (tmp_path / "ran").exists(), "the planted hook works where it is not switched off"


def test_offline_is_said_clearly_and_without_the_password() -> None:
    with pytest.raises(InfrastructureError, match="cannot be fetched") as caught:
        read_remote("https://me:secret@no-such-host.invalid/x.git", "main", "k.py", "arm fast")
    assert caught.value.exit_code == 4
    assert "secret" not in str(caught.value) + caught.value.what + caught.value.remedy
    assert "name the folder" in caught.value.remedy


def test_a_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="not a git repository"):
        read_local(tmp_path, "main", "k.py", "arm")


def test_a_transport_that_runs_commands_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AbtestError):
        read_remote(f"ext::sh -c touch% {tmp_path}/ran", "main", "k.py", "arm")
    assert not (tmp_path / "ran").exists()
    assert not is_remote("ext::sh -c x")


def test_urls_and_folders_are_told_apart() -> None:
    assert is_remote("https://example.org/x.git")
    assert is_remote("git@example.org:x/y.git")
    assert not is_remote("../vllm")
    assert without_credentials("fatal: https://a:b@host/x") == "fatal: https://host/x"

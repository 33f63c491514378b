"""Where an arm's bytes come from: the image, a file, a patch, replacements, git. Bytes in, bytes out."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from abtest.errors import SpecError, UnprovedError
from abtest.model.sandbox import TargetFacts
from abtest.sources import git, patch
from abtest.spec import Git, Source, resolve


@dataclass(frozen=True, slots=True)
class Made:
    """The bytes that take a target's place, and one phrase on where they are from."""

    content: bytes
    origin: str


def md5_of(content: bytes) -> str:
    """Hash as kernel authors quote it; sha256 stands beside it wherever it matters."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make(where: str, source: Source, base: TargetFacts, folder: Path) -> Made:
    """Make the bytes that take one target's place.

    Args:
        where: begins every message, such as "arm splitkv".
        base: the target as the image has it.
        folder: the experiment's folder, against which paths are resolved.

    Raises:
        UnprovedError: `base_md5` or `md5` is another one.
        SpecError: a replacement does not occur exactly once, a patch does not fit, or there is no such file.
        InfrastructureError: a repository cannot be reached.
    """
    if source.base_md5 is not None and source.base_md5 != base.md5:
        raise UnprovedError(
            f"{where}: the image's {base.target} has md5 {base.md5}, the arm was made for {source.base_md5}",
            remedy="Use the image that the arm was made for, or renew the arm and its base_md5.",
        )
    made = _make(where, source, base, folder)
    if source.md5 is not None and source.md5 != md5_of(made.content):
        raise UnprovedError(
            f"{where}: its file has md5 {md5_of(made.content)}, the experiment says {source.md5}",
            remedy="Restore the file that was meant, or renew the arm's md5.",
        )
    return made


def _make(where: str, source: Source, base: TargetFacts, folder: Path) -> Made:
    if source.file is not None:
        return Made(_read(where, source.file, folder), f"file {source.file}")
    if source.patch is not None:
        diff = _read(where, source.patch, folder)
        content = patch.apply(diff, base.content, base.target, f"{where}: {source.patch}")
        return Made(content, f"patch {source.patch}")
    if source.git is not None:
        return _from_git(where, source.git, base, folder)
    if source.replace:
        return Made(_replaced(where, source, base), f"{len(source.replace)} exact replacements")
    return Made(base.content, "the image's own")


def _from_git(where: str, wanted: Git, base: TargetFacts, folder: Path) -> Made:
    path = wanted.path or base.target
    if git.is_remote(wanted.repo):
        blob = git.read_remote(wanted.repo, wanted.ref, path, where)
    else:
        repo = resolve(folder, wanted.repo)
        if repo is None or not repo.is_dir():
            raise SpecError(
                f"{where}: {wanted.repo} is not a folder here",
                remedy="Name a folder below the experiment's own, an absolute path, or a URL.",
            )
        blob = git.read_local(repo, wanted.ref, path, where)
    repo_name = git.without_credentials(wanted.repo)
    return Made(blob.content, f"git {repo_name} {wanted.ref} (commit {blob.commit}): {path}")


def _read(where: str, name: str, folder: Path) -> bytes:
    path = resolve(folder, name)
    try:
        return b"" if path is None else path.read_bytes()
    except OSError as error:
        raise SpecError(
            f"{where}: {name} cannot be read: {error}", remedy="Restore the file."
        ) from error


def _replaced(where: str, source: Source, base: TargetFacts) -> bytes:
    content = base.content
    for number, change in enumerate(source.replace, start=1):
        old = change.old.encode()
        count = content.count(old)
        if count != 1:
            raise SpecError(
                f"{where}: replacement {number}: `old` occurs {count} times in the image's {base.target}, not once",
                remedy="Quote enough of the line and its neighbours to make it unique.",
            )
        content = content.replace(old, change.new.encode())
    return content

"""A mirror of a package: real folders, links to the package's own files, and real copies of the targets."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from abtest.errors import UnprovedError, UsageError
from abtest.model.sandbox import Swap

BYTECODE = shutil.ignore_patterns("__pycache__", "*.pyc")


def make(folder: Path, swaps: Sequence[Swap]) -> Path:
    """Mirror the packages of all swaps below `folder`, each target replaced by a copy of its staged file.

    Returns:
        The folder to put on the import path, before the one that holds the original.

    Raises:
        UsageError: a target is given by an absolute path, which no mirror can take the place of.
        UnprovedError: the mirror differs from the package in more, or less, than the targets.
    """
    folder.mkdir()
    for root in sorted({swap.package_root for swap in swaps}):
        source = Path(root)
        if source.is_dir():
            shutil.copytree(
                source, folder / source.name, copy_function=_link, ignore=BYTECODE, symlinks=False
            )
    for swap in swaps:
        if Path(swap.target).is_absolute():
            raise UsageError(
                f"target {swap.target} is an absolute path, which only a container can swap",
                remedy="Name it below its package's root, or use `--runtime docker`.",
            )
        place = folder / swap.target
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        shutil.copyfile(swap.staged, place)  # a fresh mtime: no bytecode of the original fits it
    check(folder, swaps)
    return folder


def check(folder: Path, swaps: Sequence[Swap]) -> None:
    """Prove that the mirror shows the original files, but for the targets.

    Raises:
        UnprovedError: names what differs.
    """
    wanted: dict[str, Path] = {}
    for root in {swap.package_root for swap in swaps}:
        source = Path(root)
        files = source.rglob("*") if source.is_dir() else [source]
        for path in files:
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
                wanted[str(path.relative_to(source.parent))] = path
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if not path.is_dir()}
    targets = {swap.target for swap in swaps}
    different = sorted(
        name
        for name in {*wanted, *found}
        if name not in targets
        and (
            name not in wanted
            or name not in found
            or wanted[name].resolve() != found[name].resolve()
        )
    )
    missing = sorted(name for name in targets if name not in found or found[name].is_symlink())
    if different or missing:
        raise UnprovedError(
            f"the mirror of the package differs in {', '.join((different + missing)[:5])}",
            remedy="Leave the package alone while trials run, then start again.",
        )


def _link(source: str, target: str) -> str:
    Path(target).symlink_to(Path(source).resolve())
    return target

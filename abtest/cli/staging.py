"""Staged files: every arm's file under a name that holds its content's hash, never overwritten."""

import os
from collections.abc import Mapping
from pathlib import Path

from abtest.errors import InfrastructureError, UsageError
from abtest.model.sandbox import ImageFacts, Swap, TargetFacts
from abtest.sources import arm_content, md5_of, sha256_of
from abtest.spec import Experiment


def stage_arms(
    experiment: Experiment, folder: Path, image: ImageFacts, staged: Path
) -> dict[str, tuple[Swap, ...]]:
    """Make the file of every arm and stage it.

    Args:
        folder: the experiment's folder.
        staged: an existing folder that only this run writes to.

    Raises:
        UsageError: two arms have the same file and no other declared difference.
    """
    target = image.targets[0]
    swaps: dict[str, tuple[Swap, ...]] = {
        name: (_stage(arm_content(name, arm, target, folder), target, staged),)
        for name, arm in experiment.arms.items()
    }
    refuse_equal_arms(experiment, swaps)
    return swaps


def refuse_equal_arms(experiment: Experiment, swaps: Mapping[str, tuple[Swap, ...]]) -> None:
    """Two arms that differ in nothing would compare a file with itself."""
    seen: dict[object, str] = {}
    for name, files in swaps.items():
        arm = experiment.arms[name]
        key = (
            tuple(swap.sha256 for swap in files),
            tuple(sorted(arm.env.items())),
            repr(sorted(arm.args.items())),
        )
        if key in seen:
            raise UsageError(
                f"arms {seen[key]} and {name} are equal: the same file (md5 {files[0].md5}) and no other difference",
                remedy="Give one of them another file, env or args.",
            )
        seen[key] = name


def _stage(content: bytes, target: TargetFacts, staged: Path) -> Swap:
    digest = sha256_of(content)
    path = staged.resolve() / f"{digest}-{Path(target.target).name}"
    try:
        if not path.is_file():
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            temporary.write_bytes(content)
            temporary.chmod(0o444)
            temporary.rename(path)
    except OSError as error:
        raise InfrastructureError(
            f"{path} cannot be staged: {error}", remedy="Free some space."
        ) from error
    if sha256_of(path.read_bytes()) != digest:
        raise InfrastructureError(
            f"{path} does not hold what its name says", remedy="Remove it and start again."
        )
    return Swap(target.target, target.path, target.package_root, str(path), md5_of(content), digest)

"""Staged files: every arm's file under a name that holds its content's hash, never overwritten."""

import os
from collections.abc import Mapping
from pathlib import Path

from abtest.errors import InfrastructureError, UsageError
from abtest.model.sandbox import ImageFacts, Swap, TargetFacts
from abtest.sources import Made, make, md5_of, sha256_of
from abtest.spec import Arm, Experiment, Source


def stage_arms(
    experiment: Experiment, folder: Path, images: Mapping[str, ImageFacts], staged: Path
) -> dict[str, tuple[Swap, ...]]:
    """Make every arm's files and stage them; a file that an arm does not name is the image's own.

    Args:
        folder: the experiment's folder.
        images: the image of each arm.
        staged: an existing folder that only this run writes to.

    Raises:
        UsageError: two arms have the same files and no other declared difference.
    """
    swaps: dict[str, tuple[Swap, ...]] = {}
    for name, arm in experiment.arms.items():
        named = arm.sources(experiment.target)
        swaps[name] = tuple(
            _stage(
                make(_where(name, arm, target), named.get(target.target, OWN), target, folder),
                target,
                staged,
            )
            for target in images[name].targets
        )
    refuse_equal_arms(experiment, images, swaps)
    return swaps


OWN = Source.model_validate({})


def _where(name: str, arm: Arm, target: TargetFacts) -> str:
    return f"arm {name}, file {target.target}" if arm.files else f"arm {name}"


def refuse_equal_arms(
    experiment: Experiment,
    images: Mapping[str, ImageFacts],
    swaps: Mapping[str, tuple[Swap, ...]],
) -> None:
    """Two arms that differ in nothing would compare a file with itself."""
    seen: dict[object, str] = {}
    for name, files in swaps.items():
        arm = experiment.arms[name]
        key = (
            tuple(swap.sha256 for swap in files),
            images[name].image_id,
            tuple(sorted(arm.env.items())),
            repr(sorted(arm.args.items())),
        )
        if key in seen:
            raise UsageError(
                f"arms {seen[key]} and {name} are equal: the same file (md5 {files[0].md5}) and no other difference",
                remedy="Give one of them another file, image, env or args.",
            )
        seen[key] = name


def _stage(made: Made, target: TargetFacts, staged: Path) -> Swap:
    digest = sha256_of(made.content)
    path = staged.resolve() / f"{digest}-{Path(target.target).name}"
    try:
        if not path.is_file():
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            temporary.write_bytes(made.content)
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
    return Swap(
        target.target,
        target.path,
        target.package_root,
        str(path),
        md5_of(made.content),
        digest,
        made.origin,
        target.real_path,
    )

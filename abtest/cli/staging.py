"""Staged files: every arm's file under a name that holds its content's hash, never overwritten."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from abtest.cli.purpose import Edit
from abtest.errors import InfrastructureError, UsageError
from abtest.model.sandbox import ImageFacts, Swap, TargetFacts
from abtest.sources import Made, make, md5_of, sha256_of
from abtest.spec import Arm, Experiment, Source


def stage_arms(
    experiment: Experiment,
    folder: Path,
    images: Mapping[str, ImageFacts],
    staged: Path,
    *,
    edits: Mapping[tuple[str, str], Edit] = MappingProxyType({}),
    same_file: bool = False,
) -> dict[str, tuple[Swap, ...]]:
    """Make every arm's files and stage them; a file that an arm does not name is the image's own.

    Args:
        folder: the experiment's folder.
        images: the image of each arm.
        staged: an existing folder that only this run writes to.
        edits: what is done to a file after it was made, by arm and target.
        same_file: the arms are meant to be equal: the noise floor is what is measured.

    Raises:
        UsageError: two arms have the same files and no other declared difference.
    """
    swaps: dict[str, tuple[Swap, ...]] = {}
    for name, arm in experiment.arms.items():
        named = arm.sources(experiment.target)
        found = []
        for target in images[name].targets:
            source = named.get(target.target, OWN)
            made = make(_where(name, arm, target), source, target, folder)
            edit = edits.get((name, target.target))
            found.append(_stage(made if edit is None else edit(made), target, staged))
        swaps[name] = tuple(found)
    if not same_file:
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

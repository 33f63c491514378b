"""`abtest doctor EXPERIMENT`: everything that a run would check before its first trial, all of it at once."""

import tempfile
from pathlib import Path

from abtest.cli import preflight
from abtest.cli.doctor import Check
from abtest.cli.session import Options, machine_of, open_images
from abtest.cli.staging import stage_arms
from abtest.errors import AbtestError, UsageError
from abtest.spec import Experiment, load


def of_experiment(path: Path, root: Path) -> list[Check]:
    """Check one experiment: image, target, pins, container, machine.

    Raises:
        UsageError: the experiment file is wrong: then there is nothing to check.
    """
    experiment, folder = load(path)
    found = [*_images(experiment, folder), *preflight.of_experiment(experiment)]
    source = machine_of(experiment, Options())
    if source is not None:
        found += preflight.of_machine(preflight.read(source))
    parent = next(one for one in (root, *root.absolute().parents) if one.exists())
    return [*found, preflight.disk_space(parent)]


def _images(experiment: Experiment, folder: Path) -> list[Check]:
    """Survey the images and stage every arm's file, as a run would, in a folder that is thrown away."""
    try:
        with tempfile.TemporaryDirectory(prefix="abtest-doctor-") as scratch:
            place = Path(scratch)
            with open_images(experiment, folder, place) as images:
                staged = place / "staged"
                staged.mkdir()
                swaps = stage_arms(experiment, folder, images, staged)
    except UsageError:
        raise
    except AbtestError as error:
        why = "No trial could start."
        return [Check("image, target and pins", "fail", error.what, why, error.remedy)]
    image = images[experiment.baseline]
    return [
        Check("image", "ok", f"{image.kind} {image.image_id[:19]}, Python at {image.python}"),
        Check(
            "target and pins",
            "ok",
            ", ".join(f"{arm} md5 {files[0].md5[:8]}" for arm, files in swaps.items()),
        ),
    ]

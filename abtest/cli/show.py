"""What an arm would change: a diff against the image's own file, hashes, origin."""

import difflib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from abtest.cli.session import open_images
from abtest.cli.staging import stage_arms
from abtest.errors import UsageError
from abtest.model.sandbox import Swap, TargetFacts
from abtest.sources import md5_of
from abtest.spec import Arm, load, restrict


def show_arm(path: Path, name: str, runtime: str | None, root: Path) -> str:
    """Tell what one arm would change in its image; nothing is run but the image's survey.

    Args:
        root: the results folder, below which a scratch folder is made and removed.

    Raises:
        UsageError: there is no such arm.
    """
    experiment, folder = load(path)
    if name not in experiment.arms:
        raise UsageError(
            f"{name!r} is not an arm of {experiment.name}",
            remedy=f"Its arms are: {', '.join(experiment.arms)}.",
        )
    experiment = restrict(experiment, runtime=runtime)
    root.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".show-arm-", dir=root)).resolve()
    try:
        with open_images(experiment, folder, scratch) as images:
            (scratch / "staged").mkdir()
            swaps = stage_arms(experiment, folder, images, scratch / "staged")[name]
            by_target = {target.target: target for target in images[name].targets}
            head = [f"arm {name} of {experiment.name}, image {images[name].image_id}"]
            lines = [*head, *_declared(experiment.arms[name])]
            for swap in swaps:
                lines += _file(by_target[swap.target], swap)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return "\n".join(lines) + "\n"


def _declared(arm: Arm) -> Iterator[str]:
    for name, value in arm.env.items():
        yield f"env {name}={value}"
    for name, argument in arm.args.items():
        yield f"args {name}={argument}"


def _file(base: TargetFacts, swap: Swap) -> Iterator[str]:
    content = Path(swap.staged).read_bytes()
    yield ""
    yield f"file {swap.target}, in the image at {base.path}"
    yield f"  the image's: md5 {base.md5} sha256 {base.sha256}"
    yield f"  the arm's:   md5 {swap.md5} sha256 {swap.sha256}"
    yield f"  origin:      {swap.origin}"
    for copy in base.copies:
        yield f"  another copy on the import path: {copy}"
    if content == base.content:
        yield "  no change"
        return
    try:
        old, new = base.content.decode(), content.decode()
    except UnicodeDecodeError:
        yield f"  binary: {len(base.content)} bytes become {len(content)} (md5 {md5_of(content)})"
        return
    yield from difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"image/{swap.target}", f"{swap.target}", lineterm=""
    )

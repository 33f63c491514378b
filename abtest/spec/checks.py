"""What an experiment's parts must agree on, and the files and folders that it names."""

from pathlib import Path

from abtest.spec.arms import Image, Source
from abtest.spec.document import Experiment
from abtest.spec.engines import check_engine
from abtest.spec.marks import KeyPath, Marks


def check(experiment: Experiment, marks: Marks, folder: Path) -> None:
    """Check everything that no single value can tell.

    Raises:
        SpecError: the first fault, with its line and remedy.
    """
    _check_names(experiment, marks)
    _check_rounds(experiment, marks)
    check_engine(experiment, marks)
    _check_files(experiment, marks, folder)
    _check_images(experiment, marks, folder)
    _check_equal(experiment, marks, folder)


def _check_names(experiment: Experiment, marks: Marks) -> None:
    names = ", ".join(experiment.arms)
    if experiment.baseline not in experiment.arms:
        text = f"{experiment.baseline!r} is not an arm"
        raise marks.error(("baseline",), text, remedy=f"The arms are: {names}.")
    if experiment.routes is None:
        return
    for arm, values in experiment.routes.expect.items():
        if arm not in experiment.arms:
            raise marks.error(
                ("routes", "expect", arm), "is not an arm", remedy=f"The arms are: {names}."
            )
        for key in values:
            if key not in experiment.routes.names:
                recorded = ", ".join(experiment.routes.names)
                raise marks.error(
                    ("routes", "expect", arm, key),
                    "is not recorded",
                    remedy=f"Recorded are: {recorded}.",
                )


def _check_rounds(experiment: Experiment, marks: Marks) -> None:
    if experiment.rounds % 2 and not experiment.allow_unbalanced:
        raise marks.error(
            ("rounds",),
            f"{experiment.rounds} is odd: the order of the arms would not be balanced",
            remedy="Use an even number, or add `allow_unbalanced: true`.",
        )


def resolve(folder: Path, name: str) -> Path | None:
    """Resolve a path of an experiment; None if a relative one leaves the folder."""
    path = Path(name)
    if path.is_absolute():
        return path
    found = (folder / path).resolve()
    return found if found.is_relative_to(folder) else None


def _check_files(experiment: Experiment, marks: Marks, folder: Path) -> None:
    for name, arm in experiment.arms.items():
        sources: list[tuple[KeyPath, Source]] = [(("arms", name), arm)]
        sources += [(("arms", name, "files", n), one) for n, one in enumerate(arm.files)]
        for key, source in sources:
            for kind in ("file", "patch"):
                wanted = getattr(source, kind)
                if wanted is not None:
                    _check_file(marks, (*key, kind), folder, wanted)
    for index, entry in enumerate(experiment.engine.pythonpath):
        _check_folder(marks, ("engine", "pythonpath", index), folder, entry)


def _check_images(experiment: Experiment, marks: Marks, folder: Path) -> None:
    images: list[tuple[KeyPath, Image]] = [(("image",), experiment.image)]
    images += [
        (("arms", name, "image"), arm.image) for name, arm in experiment.arms.items() if arm.image
    ]
    for key, image in images:
        if (image.kind == "host") != (experiment.image.kind == "host"):
            raise marks.error(
                key,
                "`host` and another image stand side by side: their trials would differ in more than the image",
                remedy="Use `host` for all arms, or for none.",
            )
        if image.build is not None:
            found = _check_folder(marks, (*key, "build"), folder, image.build)
            if not (found / "Dockerfile").is_file():
                raise marks.error(
                    (*key, "build"),
                    f"{image.build!r} holds no Dockerfile",
                    remedy=f"Put it at {found}.",
                )
    if experiment.image.kind != "host" and experiment.engine.pythonpath:
        raise marks.error(
            ("engine", "pythonpath"),
            "an image brings its own engine",
            remedy="Install the engine in the image, or use `image: host`.",
        )


def _check_folder(marks: Marks, key: KeyPath, folder: Path, name: str) -> Path:
    found = resolve(folder, name)
    if found is None or not found.is_dir():
        raise marks.error(
            key, f"{name!r} is not a folder here", remedy="Name a folder below this file's own."
        )
    return found


def with_absolute_volumes(experiment: Experiment, marks: Marks, folder: Path) -> Experiment:
    """Turn relative sources of volumes into absolute ones, below the experiment's folder.

    Raises:
        SpecError: one leaves the folder.
    """
    volumes = []
    for index, text in enumerate(experiment.container.volumes):
        source, colon, rest = text.partition(":")
        found = resolve(folder, source) if source else None
        if found is None:
            raise marks.error(
                ("container", "volumes", index),
                f"{source!r} leaves the experiment's folder",
                remedy="Put it there, or give an absolute path.",
            )
        volumes.append(f"{found}{colon}{rest}")
    container = experiment.container.model_copy(update={"volumes": tuple(volumes)})
    return experiment.model_copy(update={"container": container})


def _check_file(marks: Marks, key: KeyPath, folder: Path, name: str) -> None:
    path = resolve(folder, name)
    if path is None:
        raise marks.error(
            key,
            f"{name!r} leaves the experiment's folder",
            remedy="Move it there, or give an absolute path.",
        )
    if not path.is_file():
        kind = "is a folder" if path.is_dir() else "does not exist"
        raise marks.error(key, f"{name!r} {kind}", remedy=f"Put the arm's file at {path}.")


def _check_equal(experiment: Experiment, marks: Marks, folder: Path) -> None:
    """Refuse two arms that differ in nothing; `{}` against a file is judged later, when the image is known."""
    seen: dict[object, str] = {}
    for name, arm in experiment.arms.items():
        sources = arm.sources(experiment.target)
        key = (
            tuple((target, _source_key(source, folder)) for target, source in sources.items()),
            repr(experiment.image_of(name)),
            tuple(sorted(arm.env.items())),
            repr(sorted(arm.args.items())),
        )
        if key in seen:
            raise marks.error(
                ("arms", name),
                f"differs in nothing from {seen[key]!r}",
                remedy="Remove one, or make them differ.",
            )
        seen[key] = name


def _source_key(source: Source, folder: Path) -> object:
    if source.file is not None:
        path = resolve(folder, source.file)
        return path.read_bytes() if path is not None else None
    return (source.patch, source.replace, repr(source.git))

"""Images that are built or referred to: resolved once to an id, their interpreter found, their tag watched."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docker.errors import BuildError, ImageNotFound, NotFound

from abtest.errors import InfrastructureError, UnprovedError
from abtest.model.sandbox import ImageRequest
from abtest.runtimes.docker.engine import TROUBLES, Engine, patiently, reason

INTERPRETERS = ("python3", "python")
BUILD_TAG = "abtest-build"
LOG_LINES = 15
BUILD_S = 3600  # a step may be silent for long


@dataclass(frozen=True, slots=True)
class Resolved:
    """One image as the engine has it.

    Args:
        name: what it was asked for by, a reference or a tag of ours.
        digest: the registry's name for it, None where it never was in one.
        env: the image's own variables.
        volumes: places for which the engine makes an empty volume in every container.
    """

    name: str
    id: str
    digest: str | None
    env: Mapping[str, str]
    volumes: tuple[str, ...]

    @property
    def pythonpath(self) -> tuple[str, ...]:
        return tuple(part for part in self.env.get("PYTHONPATH", "").split(":") if part)


def resolve(engine: Engine, request: ImageRequest) -> Resolved:
    """Have an image ready, by building or pulling it where it is not there, and take down its id.

    Raises:
        InfrastructureError: it is not there and cannot be had, or its build fails.
    """
    if request.kind == "build":
        return _inspected(engine, _build(engine, request.name))
    try:
        return _inspected(engine, request.name)
    except ImageNotFound:
        _pull(engine, request.name, request.recipe)
        return _inspected(engine, request.name)


def has_moved(engine: Engine, image: Resolved) -> bool:
    """Tell whether the reference now leads to another image, or to none; an id never moves."""
    try:
        return str(engine.client.api.inspect_image(image.name)["Id"]) != image.id
    except ImageNotFound:
        return True
    except TROUBLES:
        return False  # the create call will say what is wrong with the engine


def find_python(image: Resolved, container: Any) -> str:  # noqa: ANN401 - the SDK's container
    """Find the interpreter: a virtual environment's first, then along the image's own PATH.

    Args:
        container: one that was created from the image; it need not run.

    Raises:
        UnprovedError: there is none.
    """
    folders = (
        [posixpath.join(image.env["VIRTUAL_ENV"], "bin")] if "VIRTUAL_ENV" in image.env else []
    )
    folders += [
        part for part in image.env.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(":") if part
    ]
    for folder in folders:
        for name in INTERPRETERS:
            path = posixpath.join(folder, name)
            if _is_there(container, path):
                return path
    raise UnprovedError(
        f"image {image.name} has no Python interpreter in {', '.join(folders)}",
        remedy="Name it with engine.python.",
    )


def _is_there(container: Any, path: str) -> bool:  # noqa: ANN401 - the SDK's container
    try:
        stream, _ = container.get_archive(path)
    except NotFound:
        return False
    stream.close()
    return True


def _inspected(engine: Engine, name: str) -> Resolved:
    found = patiently("look at an image", lambda: engine.client.api.inspect_image(name))
    config = found.get("Config") or {}
    digests = found.get("RepoDigests") or []
    pairs = (entry.partition("=") for entry in config.get("Env") or ())
    return Resolved(
        name=name,
        id=str(found["Id"]),
        digest=str(digests[0]) if digests else None,
        env={key: value for key, _, value in pairs},
        volumes=tuple(sorted(config.get("Volumes") or ())),
    )


def _build(engine: Engine, folder: str) -> str:
    try:
        image, _ = engine.client.images.build(
            path=folder, rm=True, forcerm=True, timeout=BUILD_S, labels={"abtest.image": "build"}
        )
    except BuildError as error:
        said = [str(line.get("stream", line.get("error", ""))).strip() for line in error.build_log]
        tail = "\n  ".join([line for line in said if line][-LOG_LINES:])
        raise InfrastructureError(
            f"the image in {folder} cannot be built: {error.msg}\n  {tail}",
            remedy="Mend the Dockerfile; `docker build` shows the whole log.",
        ) from error
    except (*TROUBLES, TypeError, OSError) as error:
        raise InfrastructureError(
            f"the image in {folder} cannot be built: {reason(error)}",
            remedy="Try `docker build` there.",
        ) from error
    tag = f"{BUILD_TAG}:{str(image.id).removeprefix('sha256:')[:16]}"
    image.tag(*tag.split(":"))  # an image without a name may be pruned in the middle of a run
    return tag


def _pull(engine: Engine, name: str, recipe: str) -> None:
    try:
        engine.client.images.pull(name)
    except TROUBLES as error:
        load = "Check its name and the network; load it with `docker pull`, `docker load` or `docker import`."
        make = f"Make it with the experiment's own recipe, {recipe}, once on this machine."
        raise InfrastructureError(
            f"image {name} is not on this machine and cannot be pulled: {reason(error)}",
            remedy=make if recipe else load,
        ) from error

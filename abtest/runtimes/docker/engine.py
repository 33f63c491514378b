"""The connection to the container engine, and the few calls that are made over it, with their troubles named."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

from abtest.errors import InfrastructureError

CALL_S = 30  # time-out of one request
PATIENCE_S = 60.0  # how long an engine may be silent while a container runs: it stops containers for 10 s each
TROUBLES = (DockerException, requests.exceptions.RequestException)  # all that a call may end in
SILENCE = (requests.exceptions.ConnectionError, requests.exceptions.ReadTimeout)
REMEDY = "Install and start Docker (Debian: apt-get install docker.io), or use `--runtime process`."
LOOKS = 15
T = TypeVar("T")


class Engine:
    """An engine that answers; a context manager."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - the SDK's client, or a stand-in of a test
        self.client = client
        self.version = str(client.version().get("Version", "unknown"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def sees_every_oom(self) -> bool:
        """Tell whether "not killed for memory" can be believed: with control groups of version 1 it cannot.

        There the engine learns only of a container's own limit, not of a machine that ran out of memory.
        """
        with contextlib.suppress(*TROUBLES):
            return str(self.client.info().get("CgroupVersion")) == "2"
        return False

    def goes_away(self) -> bool:
        """Tell whether the engine stops answering within a moment: it kills its containers before it ends."""
        for _ in range(LOOKS):
            try:
                self.client.ping()
            except TROUBLES:
                return True
            time.sleep(0.2)
        return False

    def create(self, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - the SDK's container
        """Create one container; if the engine says no, or says nothing, none is left behind.

        Raises:
            InfrastructureError: says why, as far as the engine told.
        """
        try:
            return self.client.containers.create(**arguments)
        except ImageNotFound as error:
            raise InfrastructureError(
                f"image {arguments['image']} is gone: {error.explanation}",
                remedy="Start a new run with an image that is there.",
            ) from error
        except TROUBLES as error:
            self.remove_named(arguments["name"])  # an engine that fell silent may have made it
            raise explained("create a container", error) from error

    def remove_named(self, name: str) -> None:
        """Remove a container of ours by its name, if it exists; an engine that is restarted is waited for."""
        with contextlib.suppress(*TROUBLES, InfrastructureError):
            container = patiently("find a container", lambda: self.client.containers.get(name))
            if container.labels.get("abtest.owner") == "abtest":
                self.remove(container)

    def remove(self, container: Any) -> None:  # noqa: ANN401 - the SDK's container
        """Remove one container by force; that it is gone already is as good."""
        call = lambda: container.remove(force=True, v=True)  # noqa: E731 - handed on
        try:
            patiently("remove a container", call)
        except NotFound:
            return
        except APIError as error:
            if error.status_code != 409:  # noqa: PLR2004 - conflict: its removal is under way
                raise explained("remove a container", error) from error


def connect() -> Engine:
    """Connect to the engine that the environment names.

    Raises:
        InfrastructureError: none answers.
    """
    try:
        client = docker.from_env(timeout=CALL_S)
        return Engine(client)
    except (*TROUBLES, OSError) as error:
        raise InfrastructureError(
            f"no container engine answers ({reason(error)})", remedy=REMEDY
        ) from error


def await_engine(patience_s: float = PATIENCE_S) -> Engine:
    """Connect, and wait for an engine that is away for a while.

    Raises:
        InfrastructureError: it stays away.
    """
    start_s = time.monotonic()
    while True:
        try:
            return connect()
        except InfrastructureError:
            if time.monotonic() - start_s > patience_s:
                raise
            time.sleep(0.5)


def patiently(
    what: str,
    call: Callable[[], T],
    patience_s: float = PATIENCE_S,
    *,
    on_silence: Callable[[], None] = lambda: None,
) -> T:
    """Call the engine, on our own clock: a time-out or a lost connection is tried again for a while.

    Args:
        on_silence: called whenever the engine did not answer.

    Raises:
        NotFound: the engine answers, and the thing is gone.
        InfrastructureError: the engine stayed silent.
    """
    start_s = time.monotonic()
    while True:
        try:
            return call()
        except SILENCE as error:
            if time.monotonic() - start_s > patience_s:
                raise explained(what, error) from error
            on_silence()
            time.sleep(0.5)


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """Turn whatever calls of the engine end in into an error that tells the user what could not be done."""
    try:
        yield
    except TROUBLES as error:
        raise explained(what, error) from error


def explained(what: str, error: Exception) -> InfrastructureError:
    text = reason(error)
    if isinstance(error, SILENCE):
        return InfrastructureError(
            f"the container engine stopped answering (cannot {what}): {text}",
            remedy="Look after the engine, then use --resume.",
        )
    if "no space left" in text.lower():
        return InfrastructureError(
            f"cannot {what}: no space left in the engine's data root ({text})",
            remedy="Free space there (docker system df), then use --resume.",
        )
    if "is already in use" in text:
        return InfrastructureError(
            f"cannot {what}: its name is taken by somebody else's container ({text})",
            remedy="Remove that container, then use --resume.",
        )
    return InfrastructureError(
        f"cannot {what}: {text}", remedy="Run `abtest doctor`, then use --resume."
    )


def reason(error: Exception) -> str:
    explanation = getattr(error, "explanation", None)
    text = str(explanation or error)
    return text if len(text) <= 300 else f"{text[:297]}..."  # noqa: PLR2004 - a few lines

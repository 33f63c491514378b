"""A container that somebody removes before it ran: told as what it is, at whichever call that shows."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from docker.errors import APIError, NotFound

from abtest.errors import InfrastructureError
from abtest.model.sandbox import ContainerOptions, ImageFacts, SandboxRequest
from abtest.runtimes.docker import host_image
from abtest.runtimes.docker.create import Plan
from abtest.runtimes.docker.engine import Engine
from abtest.runtimes.docker.sandbox import DockerSandbox

GONE = NotFound("404", explanation="No such container: abc")
PLAN = Plan(
    *("demo-1", "t", "0123", "/results/demo-1", "sha256:abc", "/usr/bin/python3", "0:0"),
    binds=(),
    pythonpath=(),
    env={},
    options=ContainerOptions(),
)


def failing(calls: dict[str, Exception]) -> Any:
    """An engine whose named calls fail."""

    def call(name: str, answer: object = None) -> Any:
        def made(*_: object, **__: object) -> object:
            if name in calls:
                raise calls[name]
            return answer

        return made

    container = SimpleNamespace(
        id="abc", attach_socket=call("attach"), start=call("start"), remove=call("remove")
    )
    inspected = {"Image": "sha256:abc", "Mounts": [], "State": {"Status": "running"}}
    return SimpleNamespace(
        version=lambda: {"Version": "fake"},
        containers=SimpleNamespace(create=call("create", container)),
        api=SimpleNamespace(inspect_container=call("inspect", inspected)),
    )


def used(folder: Path, calls: dict[str, Exception]) -> DockerSandbox:
    image = ImageFacts("host", "sha256:abc", None, "/usr/bin/python3", (), {})
    request = SandboxRequest(
        "demo-1", "t", "", str(folder), image, (), (), {}, {}, {}, ContainerOptions()
    )
    sandbox = DockerSandbox(Engine(failing(calls)), PLAN, request, {})
    sandbox.start()
    return sandbox


@pytest.mark.parametrize("name", ["inspect", "attach", "start"])
def test_a_container_that_is_removed_before_it_runs_has_vanished(name: str, tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="the container vanished") as caught:
        used(tmp_path, {name: GONE})
    assert "Look after the engine" in caught.value.remedy


def test_a_program_that_is_not_found_is_no_vanished_container(tmp_path: Path) -> None:
    error = NotFound("404", explanation="exec: python9: not found")
    with pytest.raises(InfrastructureError, match="does not start: exec: python9"):
        used(tmp_path, {"start": error})


def test_a_slow_engine_is_asked_for_the_host_image_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _s: None)
    answers: Iterator[Exception | SimpleNamespace] = iter(
        [requests.exceptions.ReadTimeout("read timeout=30"), SimpleNamespace(id="sha256:abc")]
    )

    def get(_name: str) -> SimpleNamespace:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    client = SimpleNamespace(version=dict, images=SimpleNamespace(get=get))
    assert host_image.ensure(Engine(client)) == "sha256:abc"


def test_an_engine_that_is_about_to_end_is_no_bug_of_ours(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot inspect a container"):
        used(tmp_path, {"inspect": APIError("500", explanation="shutting down")})

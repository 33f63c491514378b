"""Options that every test may lean on: docker tests skip without an engine, unless they are required."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("long", max_examples=2_000, deadline=None)  # --hypothesis-profile=long
settings.register_profile("fuzz", max_examples=300, deadline=None)  # one round of `make fuzz`
settings.load_profile("quick")

REQUIRE = "ABTEST_REQUIRE_DOCKER"
REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--run-docker", action="store_true", help="run tests that need a docker engine"
    )
    parser.addoption("--run-gpu", action="store_true", help="run tests that need an accelerator")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    required = os.environ.get(REQUIRE) == "1"
    docker = _docker_skip(wanted=config.getoption("--run-docker") or required, required=required)
    for item in items:
        if item.get_closest_marker("docker") and docker is not None:
            item.add_marker(docker)
        if item.get_closest_marker("gpu") and not config.getoption("--run-gpu"):
            item.add_marker(pytest.mark.skip(reason="needs an accelerator: --run-gpu"))


def _docker_skip(*, wanted: bool, required: bool) -> pytest.MarkDecorator | None:
    """A skip where there is no engine; none at all when docker tests are required, so that they fail."""
    if required:
        return None
    if not wanted:
        return pytest.mark.skip(reason="needs a docker engine: --run-docker")
    return None if _engine_answers() else pytest.mark.skip(reason="no docker engine answers")


def _engine_answers() -> bool:
    import docker

    try:
        client = docker.from_env(timeout=5)
        client.ping()
        client.close()
    except (docker.errors.DockerException, OSError):
        return False
    return True


@pytest.fixture
def repository() -> Path:
    """The folder of this checkout."""
    return REPOSITORY


@pytest.fixture(autouse=True)
def _bytecode_as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With this variable set, tests of stale bytecode would pass for nothing."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)

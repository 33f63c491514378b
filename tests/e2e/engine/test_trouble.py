"""Trouble of a real engine in mid-run: restarted, out of space, its names taken."""

import contextlib
import threading
import time
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import ContainerCollection

from abtest.errors import InfrastructureError
from abtest.runner import campaign
from abtest.runner import trial as trial_of
from abtest.runtimes.docker import host_image
from abtest.runtimes.docker.engine import connect

pytestmark = [pytest.mark.docker, pytest.mark.timeout(240)]  # engines stop slowly
Lab = Any  # of the folder above
OwnEngine = Any  # of this folder's conftest


@pytest.fixture
def lab(process_lab: Lab) -> Lab:
    process_lab.runtime = "docker"
    return process_lab


def test_an_engine_that_is_restarted_in_mid_trial_costs_that_trial_only(
    lab: Lab, own_engine: OwnEngine, at_trial: Any
) -> None:
    """The third trial hangs until the engine has killed it; it is tried again, and nothing stays behind."""
    lab.plant("experiment.yaml", "retries: 0", "retries: 1")
    wait = f'import os, time\nwhile os.path.exists("{lab.engine}/hang"):\n    time.sleep(0.1)\n\n__version__'
    lab.plant("__init__.py", "__version__", wait)

    def restart() -> None:
        client = docker.DockerClient(own_engine.url)
        while not client.containers.list(filters={"label": "abtest.owner=abtest"}):
            time.sleep(0.1)
        own_engine.stop()
        (lab.engine / "hang").unlink()
        own_engine.start()

    def begin() -> None:
        (lab.engine / "hang").touch()
        threading.Thread(target=restart, daemon=True).start()

    at_trial(3, begin)
    assert lab.run() in {0, 5}
    ended = [(trial["status"], (trial["reason"] or "").partition(":")[0]) for trial in lab.trials()]
    assert ended.count(("failed", "engine-restarted")) == 1
    assert ended.count(("ok", "")) == 6
    client = docker.DockerClient(own_engine.url)
    assert not client.containers.list(all=True, filters={"label": "abtest.owner=abtest"})


def test_an_engine_that_ends_before_it_tells_what_it_made_leaves_no_container(
    own_engine: OwnEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The container outlives the restart, and nobody was told its id."""
    create, threads = ContainerCollection.create, []

    def made_but_untold(self: ContainerCollection, **arguments: Any) -> None:
        create(self, **arguments)
        own_engine.stop()
        threads.append(threading.Thread(target=own_engine.start))
        threads[-1].start()
        self.list()  # fails: the engine is away

    with connect() as engine:
        arguments = {
            "image": host_image.ensure(engine),
            "command": ["/bin/true"],
            "name": "abtest-untold",
            "labels": {"abtest.owner": "abtest"},
        }
        monkeypatch.setattr(ContainerCollection, "create", made_but_untold)
        with pytest.raises(InfrastructureError, match="engine stopped answering"):
            engine.create(arguments)
        threads[-1].join()
        assert engine.client.containers.list(all=True) == []


def test_no_space_left_in_the_engines_data_root_is_said(
    lab: Lab,
    own_engine: OwnEngine,
    at_trial: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ballast = own_engine.data / "ballast"

    def fill() -> None:
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * 4096):
                pass

    at_trial(3, fill)
    assert lab.run() == 4
    assert "no space left" in capsys.readouterr().err
    ballast.unlink()
    assert lab.run("--resume", "latest") in {0, 5}
    assert [trial["status"] for trial in lab.trials()].count("ok") >= 6


def test_a_name_that_somebody_else_took_is_left_alone(
    lab: Lab,
    own_engine: OwnEngine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client = docker.DockerClient(own_engine.url)
    real = trial_of.run_trial

    def run_trial(setup: Any, planned: Any, trial: str, *more: Any, **named: Any) -> Any:
        client.containers.create("abtest-host:2", ["x"], name=f"abtest-{setup.run}-{trial}")
        return real(setup, planned, trial, *more, **named)

    monkeypatch.setattr(campaign, "run_trial", run_trial)
    assert lab.run() == 4
    assert "taken by somebody else" in capsys.readouterr().err
    assert len(client.containers.list(all=True)) == 1


def test_an_older_api_is_enough(lab: Lab, own_engine: OwnEngine, tmp_path: Path) -> None:
    """The engine of Debian 12 speaks API 1.41; the SDK settles on what both sides know."""
    client = docker.from_env()
    assert str(client.version()["ApiVersion"]) == str(client.api.api_version)
    assert tmp_path.exists()
    assert own_engine.url
    assert lab.run() in {0, 5}

"""The probe site in every process: what `sitecustomize` does, what it costs, what the environment record holds."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abtest.probe import request as requests


def python(code: str, env: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", code], env=env, check=True, capture_output=True, text=True
    )


@pytest.fixture
def hooked(
    environment: dict[str, str], trial_request: dict[str, Any], tmp_path: Path
) -> dict[str, str]:
    """The environment of any process of a sandbox."""
    path = tmp_path / "request.json"
    path.write_text(json.dumps(trial_request))
    return {**environment, "ABTEST_REQUEST": str(path)}


def test_the_images_own_sitecustomize_still_runs(hooked: dict[str, str], tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("import sys\nsys.theirs = __name__\n")
    hooked["PYTHONPATH"] += f":{theirs}"
    code = (
        "import sys; from abtest.probe import hook; print(sys.theirs, hook.installed() is not None)"
    )
    assert python(code, hooked).stdout == "sitecustomize True\n"


def test_one_that_fails_is_told_and_does_not_take_the_hook_along(
    hooked: dict[str, str], tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "sitecustomize.py").write_text("raise RuntimeError('theirs')\n")
    hooked["PYTHONPATH"] += f":{theirs}"
    done = python("from abtest.probe import hook; print(hook.installed() is not None)", hooked)
    assert done.stdout == "True\n"
    assert "RuntimeError: theirs" in done.stderr


def test_without_a_request_nothing_is_installed(environment: dict[str, str]) -> None:
    code = "import sys; print([name for name in sys.modules if name.startswith('abtest')])"
    assert python(code, environment).stdout == "[]\n"


def test_a_request_that_cannot_be_read_is_remembered(hooked: dict[str, str]) -> None:
    hooked["ABTEST_REQUEST"] = "/no/such/request.json"
    code = "from abtest.probe import worker; print(worker.status('json:dumps')['problem'])"
    assert "FileNotFoundError" in python(code, hooked).stdout


def test_the_hook_brings_nothing_heavy_into_a_process(hooked: dict[str, str]) -> None:
    """It is paid in every process that the engine starts."""
    told = python("pass", hooked, "-X", "importtime").stderr
    names = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    assert "abtest.probe.hook" in names
    heavy = {
        "inspect",
        "dataclasses",
        "ast",
        "subprocess",
        "multiprocessing",
        "asyncio",
        "ssl",
        "socket",
    }
    assert (
        names & (heavy | {"importlib.metadata", "platform", "typing_extensions", "logging"})
        == set()
    )


def test_the_environment_record_hides_what_differs_by_nature(
    trial: Callable[..., Any], environment: dict[str, str], library: Path, tmp_path: Path
) -> None:
    home = environment["HOME"]
    environment.update(TMPDIR=f"{home}/tmp", CACHE=f"{home}/cache", BOTH=f"{home}/tmp/x", PWD="/x")
    facts = trial().answer["environment"]
    assert facts["env.PYTHONPATH"] == str(library)
    assert (facts["env.CACHE"], facts["env.BOTH"]) == ("<home>/cache", "<tmp>/x")
    assert "env.PWD" not in facts
    assert "env.ABTEST_REQUEST" not in facts
    assert json.loads(facts["argv"])[-2:] == ["-m", "abtest.probe"]
    assert facts["cpu_count"] == str(len(os.sched_getaffinity(0)))
    assert facts["engine.tensor_parallel"] == "2"
    assert all(isinstance(value, str) for value in facts.values())
    assert str(tmp_path / "out") not in json.dumps(facts)


def test_what_the_engine_sets_by_itself_is_no_part_of_the_environment(
    trial: Callable[..., Any], library: Path
) -> None:
    package = library / "refengine" / "__init__.py"
    package.write_text(package.read_text() + "\nos.environ['SET_BY_ENGINE'] = '1'\n")
    report = trial().answer
    assert report["ok"]
    assert "env.SET_BY_ENGINE" not in report["environment"]


@pytest.mark.parametrize(
    ("key", "value"), [("schema", 2), ("mode", "dance"), ("tokens", [8]), ("engine", None)]
)
def test_a_request_of_another_form_is_refused(
    trial_request: dict[str, Any], tmp_path: Path, key: str, value: object
) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({**trial_request, key: value}))
    with pytest.raises(ValueError, match=r"request|schema|unpack"):
        requests.read(str(path))

"""The create call and its checks, read without an engine."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
from docker.errors import APIError, NotFound

from abtest.errors import InfrastructureError, UnprovedError, UsageError
from abtest.model.sandbox import ContainerOptions, Exit
from abtest.runtimes.docker.create import Plan, arguments, name_of
from abtest.runtimes.docker.engine import Engine, patiently, told
from abtest.runtimes.docker.host_image import without_nested
from abtest.runtimes.docker.sandbox import check_mounts, exit_of, mounts_sha256
from abtest.runtimes.docker.volumes import Bind, parse, private_paths

PLAN = Plan(
    run="demo-1",
    trial="r01-512-s1-stock",
    session="0123",
    results="/results/demo-1",
    image="sha256:abc",
    python="/usr/bin/python3",
    user="1000:1000",
    binds=(Bind("/usr", "/usr"), Bind("/results/demo-1/trials/t", "/abtest/out", read_only=False)),
    pythonpath=("/exp/lib",),
    env={"FAST": "1"},
    options=ContainerOptions(),
)


def test_the_exact_create_call() -> None:
    made = arguments(PLAN)
    mounts = [
        (mount["Source"], mount["Target"], mount["ReadOnly"], mount["Type"])
        for mount in made.pop("mounts")
    ]
    assert mounts == [
        ("/usr", "/usr", True, "bind"),
        ("/results/demo-1/trials/t", "/abtest/out", False, "bind"),
    ]
    assert dict(made.pop("log_config")) == {"Type": "json-file", "Config": {"max-size": "1m"}}
    assert made == {
        "image": "sha256:abc",
        "name": "abtest-demo-1-r01-512-s1-stock",
        "entrypoint": ["/usr/bin/python3"],
        "command": ["-m", "abtest.probe"],
        "labels": {
            "abtest.owner": "abtest",
            "abtest.run": "demo-1",
            "abtest.trial": "r01-512-s1-stock",
            "abtest.session": "0123",
            "abtest.results": "/results/demo-1",
        },
        "user": "1000:1000",
        "working_dir": "/abtest/home",
        "environment": {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "HOME": "/abtest/home",
            "TMPDIR": "/tmp",
            "XDG_CACHE_HOME": "/abtest/home/.cache",
            "PYTHONPATH": "/abtest/site:/exp/lib",
            "ABTEST_REQUEST": "/abtest/request.json",
            "FAST": "1",
        },
        "tmpfs": {
            "/tmp": "rw,exec,nosuid,nodev,mode=1777",
            "/abtest/home": "rw,exec,nosuid,nodev,mode=1777",
        },
        "read_only": True,
        "healthcheck": {"test": ["NONE"]},
        "network_mode": "none",
        "ipc_mode": "private",
        "shm_size": 1 << 30,
        "cap_drop": ["ALL"],
        "cap_add": [],
        "security_opt": ["no-new-privileges"],
        "group_add": [],
        "devices": [],
        "ulimits": [],
        "stdin_open": True,
        "detach": False,
    }


def test_options_reach_the_create_call() -> None:
    options = ContainerOptions(
        gpus=("0",),
        cap_add=("SYS_NICE",),
        ulimits={"memlock": -1},
        cpuset_cpus="0-3",
        user="7:8",
        entrypoint=("/init",),
    )
    made = arguments(replace(PLAN, options=options))
    assert dict(made["device_requests"][0])["DeviceIDs"] == ["0"]
    assert made["cap_add"] == ["SYS_NICE"]
    assert dict(made["ulimits"][0]) == {"Name": "memlock", "Soft": -1, "Hard": -1}
    assert (made["cpuset_cpus"], made["user"]) == ("0-3", "7:8")
    assert made["entrypoint"] == ["/init"]
    assert made["command"] == ["/usr/bin/python3", "-m", "abtest.probe"]


@pytest.mark.parametrize(
    "text",
    [
        "/:/host",
        "/var/run/docker.sock:/s",
        "/home:/h",
        "/home/somebody:/h",
        "/root:/r",
        "/etc:/e",
        "/usr/..:/x",
        "relative:/x",
        "/a",
        "/a:b",
        "/a:/b:rx",
        "/a:/",
    ],
)
def test_a_volume_that_hands_over_the_host_or_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse([text], private_paths())


def test_a_narrow_volume_is_read_only_unless_asked_otherwise(tmp_path: Path) -> None:
    (found,) = parse([f"{tmp_path}:/models"], private_paths())
    assert found == Bind(str(tmp_path), "/models")
    (found,) = parse([f"{tmp_path}:/models:rw"], private_paths())
    assert not found.read_only
    assert parse(["/:/host"], ()) == (Bind("/", "/host"),)


def test_a_link_to_the_root_is_seen_through(tmp_path: Path) -> None:
    (tmp_path / "innocent").symlink_to("/")
    with pytest.raises(UsageError, match="hand over"):
        parse([f"{tmp_path}/innocent:/x"], private_paths())


def mounted(*binds: Bind) -> dict[str, Any]:
    return {
        "Mounts": [
            {"Source": b.source, "Destination": b.target, "RW": not b.read_only} for b in binds
        ]
    }


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (mounted(*PLAN.binds, Bind("/evil", "/usr/lib/python3")), "not planned: /evil"),
        (mounted(PLAN.binds[0]), "missing"),
        (mounted(Bind("/usr", "/usr", read_only=False), PLAN.binds[1]), "/usr"),
        ({}, "missing"),
    ],
)
def test_a_mount_that_was_not_planned_is_refused(found: dict[str, Any], words: str) -> None:
    check_mounts(PLAN.binds, mounted(*PLAN.binds))
    with pytest.raises(UnprovedError, match=words) as caught:
        check_mounts(PLAN.binds, found)
    assert caught.value.exit_code == 3


def test_the_hash_of_mounts_does_not_depend_on_the_trials_own_folder() -> None:
    other = (PLAN.binds[0], Bind("/results/demo-1/trials/u", "/abtest/out", read_only=False))
    same = mounts_sha256(PLAN.binds, "/results/demo-1/trials/t") == mounts_sha256(
        other, "/results/demo-1/trials/u"
    )
    assert same
    assert mounts_sha256(PLAN.binds[:1], "/x") != mounts_sha256(PLAN.binds, "/x")


@pytest.mark.parametrize(
    ("state", "exit_"),
    [
        ({"Status": "running"}, None),
        ({"Status": "created"}, None),
        ({"Status": "exited", "ExitCode": 137, "OOMKilled": True}, Exit(137, oom_killed=True)),
        ({"Status": "exited", "ExitCode": 137, "OOMKilled": False}, Exit(137, oom_killed=False)),
        ({"Status": "dead", "ExitCode": 137}, Exit(137, oom_killed=None)),
    ],
)
def test_f8_three_answers_to_an_exit(state: dict[str, Any], exit_: Exit | None) -> None:
    assert exit_of(state) == exit_


@pytest.mark.parametrize(
    "error", [requests.exceptions.ConnectionError("lost"), requests.exceptions.ReadTimeout("slow")]
)
def test_f2_both_kinds_of_silence_are_waited_out_on_our_own_clock(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    answers: list[Exception | str] = [error, error, "answer"]

    def call() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert patiently("ask", call) == "answer"
    with pytest.raises(InfrastructureError, match="stopped answering"):
        patiently("ask", lambda: (_ for _ in ()).throw(error), patience_s=0)


class FakeContainer:
    def __init__(self, owner: str) -> None:
        self.labels = {"abtest.owner": owner}
        self.removed = False

    def remove(self, **_: object) -> None:
        self.removed = True


class FakeClient:
    """An engine whose create call fails in one way, while the container exists or not."""

    def __init__(self, error: Exception, container: FakeContainer | None) -> None:
        self.error, self.container = error, container
        self.containers = self

    def version(self) -> dict[str, str]:
        return {"Version": "fake"}

    def create(self, **_: object) -> None:
        raise self.error

    def get(self, name: str) -> FakeContainer:
        if self.container is None:
            raise NotFound(name)
        return self.container


def test_f3_a_time_out_on_create_leaves_no_container_behind() -> None:
    container = FakeContainer("abtest")
    engine = Engine(FakeClient(requests.exceptions.ReadTimeout("slow"), container))
    with pytest.raises(InfrastructureError, match="create a container") as caught:
        engine.create({"name": "abtest-x", "image": "i"})
    assert caught.value.exit_code == 4
    assert container.removed


def test_f3_an_engine_that_is_restarted_during_create_is_waited_for_and_leaves_no_container(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It made the container, ended before it could say so, and keeps the container over its restart."""
    container = FakeContainer("abtest")
    lost = requests.exceptions.ConnectionError("Connection aborted.")
    client = FakeClient(lost, container)
    answers: Iterator[Exception | FakeContainer] = iter([lost, lost, container])

    def get(_name: str) -> FakeContainer:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(client, "get", get)
    monkeypatch.setattr(time, "sleep", lambda _s: None)
    with pytest.raises(InfrastructureError, match="engine stopped answering") as caught:
        Engine(client).create({"name": "abtest-x", "image": "i"})
    assert "Look after the engine" in caught.value.remedy
    assert container.removed


@pytest.mark.parametrize(
    "error",
    [
        APIError("the engine is about to end"),
        requests.exceptions.ConnectionError("Connection aborted."),
        NotFound("no such image"),
    ],
)
def test_no_trouble_of_the_engine_is_taken_for_a_bug_of_ours(error: Exception) -> None:
    with pytest.raises(InfrastructureError, match="do it") as caught, told("do it"):
        raise error
    assert caught.value.exit_code == 4
    assert caught.value.remedy


def test_somebody_elses_container_of_our_name_is_left_alone() -> None:
    container = FakeContainer("somebody")
    conflict = APIError('Conflict. The container name "/abtest-x" is already in use')
    with pytest.raises(InfrastructureError, match="somebody else"):
        Engine(FakeClient(conflict, container)).create({"name": "abtest-x", "image": "i"})
    assert not container.removed


@pytest.mark.parametrize(
    ("text", "words"),
    [("write /var/lib/docker: no space left on device", "no space left"), ("odd", "odd")],
)
def test_trouble_of_the_engine_is_told_with_a_remedy(text: str, words: str) -> None:
    with pytest.raises(InfrastructureError, match=words) as caught:
        Engine(FakeClient(APIError(text), None)).create({"name": "abtest-x", "image": "i"})
    assert caught.value.remedy


def test_paths_inside_others_are_bound_once() -> None:
    assert without_nested(["/usr", "/usr/lib/python3", "/opt/x", "/optional", "/opt/x/"]) == (
        "/opt/x",
        "/optional",
        "/usr",
    )


@pytest.mark.parametrize(
    ("info", "known"),
    [({"CgroupVersion": "2"}, True), ({"CgroupVersion": "1"}, False), ({}, False)],
)
def test_f8_not_for_memory_is_believed_only_where_the_engine_can_know(
    info: dict[str, str], *, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeClient(APIError("unused"), None)
    monkeypatch.setattr(client, "info", lambda: info, raising=False)
    assert Engine(client).sees_every_oom() is known


def test_names_are_unique_and_short() -> None:
    assert name_of("run", "trial") == "abtest-run-trial"

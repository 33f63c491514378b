"""Runs that are killed, interrupted, resumed and extended: nothing is lost, nothing is mixed, nothing stays behind."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abtest.cli.main import main
from abtest.ledger import store

RAN = (0, 5)


def start(program: list[str], lab: Any) -> subprocess.Popen[bytes]:
    """Start a run as another process, in a session of its own."""
    command = [
        *program,
        "run",
        str(lab.folder),
        "--results",
        str(lab.results),
        "--runtime",
        lab.runtime,
    ]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def in_mid_trial(lab: Any, done: int) -> bool:
    """Tell whether so many trials are recorded and another one has begun."""
    ledger = lab.results / "latest" / "ledger.jsonl"
    if not ledger.exists() or ledger.read_text().count("\n") < done:
        return False
    return len(list((lab.results / "latest" / "trials").glob("*/progress.jsonl"))) > done


def processes_of(folder: Path) -> list[str]:
    """List live processes whose environment names this folder: a trial's probe and workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return [pid for pid in found if pid != str(os.getpid())]


def check_whole(lab: Any, rounds: int) -> None:
    """Every block exactly once, whole, in the planned order; nothing was lost."""
    contents = store.read(lab.latest)
    assert contents.faults == ()
    assert contents.torn is None
    counted = [record for record in contents.standing if record.counts]
    seen = Counter((record.round, record.arm) for record in counted)
    assert seen == {
        (number, arm): 1 for number in range(1, rounds + 1) for arm in ("stock", "splitkv")
    }


def test_a_killed_run_leaves_nothing_behind_and_resumes(
    lab: Any,
    abtest_program: list[str],
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = start(abtest_program, lab)
    assert wait_until(lambda: in_mid_trial(lab, 3), 40)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    if lab.runtime == "docker":
        containers_of = request.getfixturevalue("containers_of")
        assert wait_until(lambda: containers_of(lab.latest) == [], 5)
    assert wait_until(lambda: processes_of(lab.results) == [], 5)
    before = lab.records()
    assert len(before) == 3
    assert lab.run("--resume", "latest") in RAN
    assert lab.records()[:3] == before
    check_whole(lab, 2)
    capsys.readouterr()
    assert lab.run("--resume", "latest") in RAN, "a finished run resumes into its own table"
    assert len(lab.trials()) == len([r for r in lab.records() if r["kind"] == "trial"])
    check_whole(lab, 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_exits_with_130_and_its_ledger_is_intact(
    number: signal.Signals, lab: Any, abtest_program: list[str], request: pytest.FixtureRequest
) -> None:
    run = start(abtest_program, lab)
    assert wait_until(lambda: in_mid_trial(lab, 1), 40)
    os.killpg(run.pid, number)
    out, error = run.communicate(timeout=20)
    assert run.returncode == 130, error
    assert out == b""
    assert b"the ledger is intact" in error
    assert b"Traceback" not in error
    assert store.read(lab.latest).torn is None
    assert wait_until(lambda: processes_of(lab.results) == [], 5)
    if lab.runtime == "docker":
        assert wait_until(lambda: request.getfixturevalue("containers_of")(lab.latest) == [], 5)


def test_a_torn_ledger_is_mended_on_resume(
    process_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = process_lab
    assert lab.run() in RAN
    ledger = lab.latest / "ledger.jsonl"
    text = ledger.read_text()
    ledger.write_text(text[: -len(text.splitlines()[-1]) // 2])
    assert lab.run("--resume", "latest") in RAN
    check_whole(lab, 2)
    assert "torn last line" in store.read(lab.latest).notes[0]


def edit_kernel(lab: Any) -> None:
    path = lab.folder / "splitkv.py"
    path.write_text(path.read_text() + "\n# edited\n")


def edit_stock(lab: Any) -> None:
    path = lab.engine / "ops" / "paged_attention.py"
    path.write_text(path.read_text() + "\n# edited\n")


def edit_experiment(lab: Any) -> None:
    lab.plant("experiment.yaml", "pairs: 2", "pairs: 3")


def edit_package(lab: Any) -> None:
    path = lab.engine / "model.py"
    path.write_text(path.read_text() + "\n# edited\n")


@pytest.mark.parametrize(
    ("edit", "part"),
    [
        (edit_kernel, "arm splitkv: file"),
        (edit_stock, "arm stock: file"),
        (edit_experiment, "experiment: pairs"),
        (edit_package, "image: package"),
    ],
)
def test_anything_that_changed_before_a_resume_is_named_and_refused(
    edit: Callable[[Any], None], part: str, lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.run() in RAN
    before = (lab.latest / "ledger.jsonl").read_bytes()
    capsys.readouterr()
    edit(lab)
    assert lab.run("--resume", "latest") == 3
    assert part in capsys.readouterr().err
    assert lab.command("rerun", "--cell", "splitkv@40") == 3
    assert part in capsys.readouterr().err
    assert (lab.latest / "ledger.jsonl").read_bytes() == before


def test_a_foreign_record_is_refused(process_lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lab = process_lab
    assert lab.run() in RAN
    ledger = lab.latest / "ledger.jsonl"
    record = json.loads(ledger.read_text().splitlines()[-1])
    with ledger.open("a") as file:
        file.write(json.dumps({**record, "trial": "foreign", "spec_sha256": "f" * 64}) + "\n")
    assert lab.run("--resume", "latest") == 3
    assert "foreign" in capsys.readouterr().err
    with ledger.open("a") as file:
        file.write("hello\n")
    assert lab.run("--resume", "latest") == 3
    assert "line 8: " in capsys.readouterr().err


def test_a_rerun_adds_whole_blocks_in_mirrored_order(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.run() in RAN
    assert lab.command("rerun", "--cell", "splitkv@40", "--rounds", "2") in RAN
    check_whole(lab, 4)
    order = [(trial["round"], trial["arm"]) for trial in lab.trials() if trial["round"] > 2]
    assert order == [(3, "splitkv"), (3, "stock"), (4, "stock"), (4, "splitkv")]
    warm_ups = [trial for trial in lab.trials() if trial["discarded"]]
    assert len(warm_ups) == 4, "a rerun warms up again: the machine was idle in between"
    orders = [trial["order"] for trial in lab.trials()]
    assert orders == sorted(set(orders))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cell", "splitkv@41"], "no such cell"),
        (["--cell", "nobody@40"], "no such cell"),
        (["--cell", "splitkv"], "is not a cell"),
        (["--cell", "splitkv@40", "--rounds", "1"], "even"),
        (["--cell", "splitkv@40", "--rounds", "0"], "even"),
    ],
)
def test_a_rerun_of_what_is_not_there_is_refused(
    arguments: list[str], words: str, process_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert process_lab.run() in RAN
    capsys.readouterr()
    assert process_lab.command("rerun", *arguments) == 2
    assert words in capsys.readouterr().err


def test_two_runs_on_one_folder_are_refused(
    process_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = process_lab
    assert lab.run() in RAN
    holder = subprocess.Popen(
        ["flock", str(lab.latest / "lock"), "sh", "-c", "echo held; read _"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    try:
        assert lab.run("--resume", "latest") == 4
        assert "another run holds" in capsys.readouterr().err
    finally:
        holder.communicate(b"\n", timeout=10)


def test_docker_without_an_engine_is_refused_with_a_remedy(
    process_lab: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    process_lab.runtime = "docker"
    assert process_lab.run() == 4
    said = capsys.readouterr().err
    assert "no container engine answers" in said
    assert "  next: Install and start Docker" in said
    assert list(process_lab.results.glob("small-*")) == []


def test_auto_falls_back_to_processes_and_says_why(
    process_lab: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    process_lab.runtime = "auto"
    assert process_lab.run() in RAN
    said = capsys.readouterr().out
    assert "isolation: process" in said
    assert "auto: no container engine answers" in said
    assert "isolation-process" in said


def test_a_hung_start_is_ended_by_its_limit(lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """F11: the engine never comes up; its processes are ended with the sandbox."""
    lab.plant("experiment.yaml", "start_s: 30", "start_s: 3")
    lab.plant(
        "engine.py",
        "            self._spawn()\n",
        "            self._spawn()\n            time.sleep(3600)\n",
    )
    assert lab.run() == 4
    assert "start-timeout" in capsys.readouterr().err
    assert wait_until(lambda: processes_of(lab.results) == [], 5)


@pytest.mark.docker
def test_leftovers_of_a_dead_run_are_removed_and_those_of_a_live_one_are_kept(
    tmp_path: Path,
) -> None:
    import docker

    from abtest.runtimes.docker import host_image, leftovers
    from abtest.runtimes.docker.engine import connect

    dead, live = tmp_path / "dead", tmp_path / "live"
    live.mkdir()
    dead.mkdir()
    with connect() as engine:
        image = host_image.ensure(engine)
        for folder in (dead, live):
            engine.client.containers.create(
                image,
                ["nothing"],
                labels={
                    "abtest.owner": "abtest",
                    "abtest.results": str(folder),
                    "abtest.run": folder.name,
                },
            )
        try:
            removed = leftovers.remove(engine, lambda folder: folder == dead)
            assert len(removed) == 1
            left = engine.client.containers.list(
                all=True, filters={"label": f"abtest.results={live}"}
            )
            assert len(left) == 1
        finally:
            for folder in (dead, live):
                for container in engine.client.containers.list(
                    all=True, filters={"label": f"abtest.results={folder}"}
                ):
                    container.remove(force=True)
    assert docker.__version__


@pytest.mark.docker
def test_a_container_that_a_failing_run_never_heard_of_is_removed() -> None:
    """A signal may come between the engine's making a container and our learning of it."""
    from abtest.runtimes.docker import host_image
    from abtest.runtimes.docker.engine import connect
    from abtest.runtimes.docker.janitor import Janitor

    with connect() as engine:
        image, ours = host_image.ensure(engine), {"label": "abtest.session=test-untold"}

        def interrupted() -> None:
            with Janitor("test-untold"):
                engine.client.containers.create(
                    image, ["nothing"], labels={"abtest.session": "test-untold"}
                )
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert engine.client.containers.list(all=True, filters=ours) == []


def test_the_simulated_runtime_shows_a_whole_run(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "run",
                str(repository / "arms" / "reference"),
                "--simulate",
                "--results",
                str(tmp_path),
            ]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "isolation: simulated" in said
    assert "identity: simulated" in said
    assert "Nothing was measured" in said
    assert main(["rerun", "latest", "--cell", "splitkv@2048", "--results", str(tmp_path)]) == 0
    assert main(["summary", "latest", "--format", "json", "--results", str(tmp_path)]) == 0

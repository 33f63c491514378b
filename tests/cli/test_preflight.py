"""Before a run: every check has a reading that fails it, and a missing reading never passes."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from abtest.cli import preflight
from abtest.cli.main import main
from abtest.cli.preflight import Machine
from abtest.errors import InfrastructureError
from abtest.model.telemetry import CardProcess
from abtest.spec import Experiment, parse

TEXT = """\
schema: 1
name: demo
target: pkg/kernel.py
baseline: stock
arms: {stock: {}, fast: {env: {FAST: "1"}}}
engine: {kind: reference, tensor_parallel: 2}
depths: [512]
container: {CONTAINER}
"""


def levels(container: str) -> dict[str, str]:
    text = TEXT.replace("CONTAINER", container)
    experiment: Experiment = parse(text, file="experiment.yaml", folder=Path("/"))
    return {check.name: check.level for check in preflight.of_experiment(experiment)}


SOUND = {
    "gpu0.link_width": 16.0, "gpu0.link_width_max": 16.0, "gpu0.link_gen": 1.0, "gpu0.link_gen_max": 5.0,
    "gpu0.mem_used_bytes": 5e8, "gpu0.mem_total_bytes": 1.5e11,
}  # fmt: skip


def of_machine(
    *, processes: tuple[CardProcess, ...] = (), facts: dict[str, str] | None = None, **sample: Any
) -> dict[str, str]:
    changed = {f"gpu0.{name}": value for name, value in sample.items()}
    known = {"cpu.governor": "performance", "clock_source": "tsc"} if facts is None else facts
    machine = Machine({**SOUND, **changed}, processes, known)
    return {check.name: check.level for check in preflight.of_machine(machine)}


def test_a_sound_machine_has_nothing_to_warn_of() -> None:
    assert set(of_machine().values()) <= {"ok", "note"}


@pytest.mark.parametrize(
    ("container", "level"),
    [("shm_size: 64m", "fail"), ("shm_size: 64m, ipc: host", "ok"), ("shm_size: 1g", "ok")],
)
def test_f1_tensor_parallel_needs_shared_memory(container: str, level: str) -> None:
    assert levels(container)["shared memory"] == level


def test_f1_one_rank_does_not_need_it() -> None:
    text = TEXT.replace("CONTAINER", "shm_size: 64m").replace("parallel: 2", "parallel: 1")
    checks = preflight.of_experiment(parse(text, file="e.yaml", folder=Path("/")))
    assert [check.level for check in checks if check.name == "shared memory"] == ["ok"]


def test_group_names_are_warned_of_and_numbers_are_not() -> None:
    assert levels("group_add: [video]")["groups"] == "warn"
    assert "groups" not in levels('group_add: ["44"]')


def test_a_device_that_is_not_there_fails() -> None:
    assert levels("devices: [/dev/no-such-card]")["devices"] == "fail"
    assert levels("devices: ['/dev/null:/dev/null:rw']")["devices"] == "ok"


def test_a_device_of_a_group_that_is_not_given_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = tmp_path / "kfd"
    node.touch(mode=0o660)
    monkeypatch.setattr("os.getuid", lambda: node.stat().st_uid + 1)
    assert levels(f"devices: [{node}]")["devices"] == "warn"
    assert levels(f'devices: [{node}], group_add: ["{node.stat().st_gid}"]')["devices"] == "ok"


def test_d9_a_narrow_link_warns_and_no_reading_is_not_a_pass() -> None:
    assert of_machine(link_width=8.0)["gpu0 link"] == "warn"
    assert of_machine(link_width=None)["gpu0 link"] == "warn"
    assert of_machine(link_width_max=None)["gpu0 link"] == "warn"


def test_d10_a_slow_generation_at_idle_is_no_fault() -> None:
    assert of_machine(link_gen=1.0)["gpu0 link"] == "ok"


def test_memory_in_use_before_the_run_warns_and_so_does_no_reading() -> None:
    assert of_machine(mem_used_bytes=2e10)["gpu0 memory"] == "warn"
    assert of_machine(mem_used_bytes=None)["gpu0 memory"] == "warn"
    assert of_machine()["gpu0 memory"] == "ok"


@pytest.mark.parametrize("ours", [False, None])
def test_a_process_on_a_card_before_the_run_fails(ours: bool | None) -> None:  # noqa: FBT001 - a parameter of pytest
    found = of_machine(processes=(CardProcess("gpu0", 5, ours),))
    assert found["other processes on cards"] == "fail"


def test_governor_and_clock_source() -> None:
    assert of_machine(facts={"cpu.governor": "powersave", "clock_source": "hpet"}) | {} == {
        **of_machine(),
        "governor": "warn",
        "clock source": "warn",
    }
    missing = of_machine(facts={})
    assert (missing["governor"], missing["clock source"]) == ("note", "warn")


@pytest.mark.parametrize(
    ("free", "level"), [(1 << 20, "fail"), (500 << 20, "warn"), (5 << 30, "ok")]
)
def test_disk_space(free: int, level: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert preflight.disk_space(tmp_path).level == level


class Source:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def facts(self) -> dict[str, str]:
        return dict(self.machine.facts)

    def look(self) -> tuple[Any, tuple[CardProcess, ...]]:
        return self.machine.sample, self.machine.processes

    watch: Callable[[], Any]


def test_strict_turns_warnings_into_exit_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = parse(TEXT.replace("CONTAINER", ""), file="e.yaml", folder=Path("/"))
    source = Source(Machine({**SOUND, "gpu0.link_width": 8.0}, (), {"clock_source": "tsc"}))
    preflight.require(experiment, source, tmp_path, strict=False)
    said = capsys.readouterr()
    assert "warn: gpu0 link: x8 of x16" in said.err
    assert "next: Reseat the card" in said.err
    assert said.out == ""
    with pytest.raises(InfrastructureError, match="gpu0 link") as caught:
        preflight.require(experiment, source, tmp_path, strict=True)
    assert caught.value.exit_code == 4


@pytest.fixture
def small(tmp_path: Path, repository: Path) -> Path:
    folder = tmp_path / "small"
    source = repository / "arms" / "reference"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / "experiment.yaml").read_text()
    (folder / "experiment.yaml").write_text(text + "container: {shm_size: 64m}\n")
    return folder


def test_f1_a_run_refuses_before_any_trial_and_leaves_no_folder(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    assert main(["run", str(small), "--runtime", "process", "--results", str(results)]) == 4
    said = capsys.readouterr()
    assert "bus error" in said.err
    assert "container.shm_size: 1g" in said.err
    assert list(results.iterdir()) == []


def test_doctor_checks_an_experiment_and_exits_with_4(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    text = (small / "experiment.yaml").read_text()
    (small / "experiment.yaml").write_text(text + "runtime: process\n" if "runtime:" not in text else text.replace("runtime: auto", "runtime: process"))  # fmt: skip
    assert main(["doctor", str(small), "--results", str(tmp_path)]) == 4
    said = capsys.readouterr()
    assert "fail  shared memory: 64 MiB" in said.out
    assert "ok    target and pins: stock md5" in said.out
    assert "shared memory" in said.err
    (small / "refengine/ops/paged_attention.py").unlink()
    assert main(["doctor", str(small), "--results", str(tmp_path)]) == 4
    assert "fail  image, target and pins" in capsys.readouterr().out


def test_d9_a_driver_without_a_reader_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = Machine({}, (), {"clock_source": "tsc"})
    monkeypatch.setattr(preflight, "NVIDIA_NODE", tmp_path / "no-such-node")
    assert "cards" not in {check.name for check in preflight.of_machine(bare)}
    monkeypatch.setattr(preflight, "NVIDIA_NODE", tmp_path)
    (found,) = [check for check in preflight.of_machine(bare) if check.name == "cards"]
    assert found.level == "warn"
    assert "abtest[nvidia]" in found.remedy

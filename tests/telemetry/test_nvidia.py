"""NVIDIA cards by NVML: a module that answers from a recording stands in for the driver."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from abtest.telemetry.nvidia import NvidiaCards, channels
from abtest.telemetry.processes import Owner
from tests.telemetry.conftest import stat_line, write_tree

RECORDING = Path(__file__).parent / "nvml.json"


class NvmlError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"code {value}")
        self.value = value


class Recorded:
    """Answers `nvmlDeviceGetX(handle, ...)` from `{"X": answer}`; what is not recorded is not supported (code 3)."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    def nvmlInit(self) -> None: ...  # noqa: N802 - the driver's name

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802 - the driver's name
        return int(self.answers["count"])

    def __getattr__(self, name: str) -> Any:
        key = name.removeprefix("nvmlDeviceGet").removeprefix("nvmlSystemGet")

        def answer(*arguments: Any) -> Any:
            value = self.answers.get(
                "/".join([key, *(str(one) for one in arguments[1:])]), self.answers.get(key)
            )
            if value is None:
                raise NvmlError(3)
            if isinstance(value, dict) and "error" in value:
                raise NvmlError(value["error"])
            if isinstance(value, list):
                return [thing(one) for one in value]
            return thing(value)

        return answer


def thing(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return SimpleNamespace(**{name: thing(inner) for name, inner in value.items()})


@pytest.fixture
def answers() -> dict[str, Any]:
    return dict(json.loads(RECORDING.read_text())["answers"])


def cards(answers: dict[str, Any], tmp_path: Path) -> NvidiaCards:
    return NvidiaCards(Owner(tmp_path, pid=10), Recorded(answers))


def test_every_quantity_is_read_in_our_units(answers: dict[str, Any], tmp_path: Path) -> None:
    sample = cards(answers, tmp_path).sample()
    assert all(value is not None for value in sample.values()), sample
    instant = answers["FieldValues/[186]"][0]
    power_mw = answers["PowerUsage"] if instant["nvmlReturn"] else instant["value"]["uiVal"]
    assert sample["gpu0.power_w"] == power_mw / 1000
    assert sample["gpu0.power_limit_w"] == answers["EnforcedPowerLimit"] / 1000
    assert sample["gpu0.sm_max_mhz"] == answers["MaxClockInfo/1"]
    assert sample["gpu0.mem_max_mhz"] == answers["MaxClockInfo/2"]
    assert sample["gpu0.link_width"] == answers["CurrPcieLinkWidth"]
    assert sample["gpu0.lost"] == 0


def test_an_idle_card_is_read_as_one(answers: dict[str, Any], tmp_path: Path) -> None:
    idle = dict(json.loads((RECORDING.parent / "nvml-idle.json").read_text())["answers"])
    resting, working = cards(idle, tmp_path).sample(), cards(answers, tmp_path).sample()
    assert (resting["gpu0.reasons"], working["gpu0.reasons"]) == (1, 0)  # 1: nothing to do
    assert (resting["gpu0.sm_mhz"], working["gpu0.sm_mhz"]) == (345, 1980)
    assert cards(idle, tmp_path).facts() == cards(answers, tmp_path).facts()


def test_instantaneous_power_is_preferred_where_the_card_has_it() -> None:
    assert channels({"power_mw": 100_000, "power_instant_mw": 412_000})["power_w"] == 412
    assert channels({"power_mw": 100_000, "power_instant_mw": None})["power_w"] == 100
    assert channels({})["power_w"] is None


@pytest.mark.parametrize(
    ("call", "quantity"),
    [
        ("CurrPcieLinkWidth", "link_width"),
        ("PowerUsage", "power_w"),
        ("MemoryInfo", "mem_used_bytes"),
        ("CurrentClocksEventReasons", "reasons"),
    ],
)
def test_d9_what_a_card_does_not_say_is_none(
    answers: dict[str, Any], tmp_path: Path, call: str, quantity: str
) -> None:
    del answers[call]
    if call == "PowerUsage":
        answers["FieldValues/[186]"] = [{"nvmlReturn": 3}]
    assert cards(answers, tmp_path).sample()[f"gpu0.{quantity}"] is None


def test_older_drivers_know_reasons_by_their_older_name(
    answers: dict[str, Any], tmp_path: Path
) -> None:
    del answers["CurrentClocksEventReasons"]
    answers["CurrentClocksThrottleReasons"] = 36
    assert cards(answers, tmp_path).sample()["gpu0.reasons"] == 36


def test_f6_a_card_that_is_gone_says_so_and_reads_nothing(
    answers: dict[str, Any], tmp_path: Path
) -> None:
    gone = {name: {"error": 15} for name in answers}
    sample = cards({**gone, "count": 1, "HandleByIndex": 0}, tmp_path).sample()
    assert sample.pop("gpu0.lost") == 1
    assert set(sample.values()) == {None}


def test_an_unknown_error_of_one_call_does_not_lose_the_card(
    answers: dict[str, Any], tmp_path: Path
) -> None:
    answers["Temperature"] = {"error": 999}
    assert cards(answers, tmp_path).sample()["gpu0.lost"] == 0


def test_processes_are_told_apart(answers: dict[str, Any], tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "10/stat": stat_line(10, 1),
            "12/stat": stat_line(12, 10),
            "12/cgroup": "0::/user.slice\n",
            "99/stat": stat_line(99, 1),
        },
    )
    owner = Owner(tmp_path, pid=10)
    owner.look()
    answers["ComputeRunningProcesses"] = [{"pid": 12}, {"pid": 99}, {"pid": 7000}]
    found = NvidiaCards(owner, Recorded(answers)).processes()
    assert [(one.pid, one.ours) for one in found] == [(12, True), (99, False), (7000, None)]
    assert found[0].cgroup == "0::/user.slice"


def test_cards_of_a_kind_are_told_apart_by_a_hash(answers: dict[str, Any], tmp_path: Path) -> None:
    found = [cards({**answers, "UUID": f"GPU-{name}"}, tmp_path).facts() for name in "aab"]
    hashes = [one["gpu.cards_hash"] for one in found]
    assert hashes[0] == hashes[1] != hashes[2]
    assert "GPU" not in hashes[0]
    assert "gpu.cards_hash" not in cards(answers, tmp_path).facts()  # a driver that does not tell


def test_facts_say_the_same_thing_of_two_cards_once(
    answers: dict[str, Any], tmp_path: Path
) -> None:
    facts = cards({**answers, "count": 2}, tmp_path).facts()
    assert facts["gpu.models"].startswith("2 x ")
    assert facts["gpu.driver"] == answers["DriverVersion"]


def test_without_nvml_there_are_no_cards_and_a_reason(tmp_path: Path) -> None:
    class Missing(Recorded):
        def nvmlInit(self) -> None:  # noqa: N802 - the driver's name
            raise NvmlError(12)

    found = NvidiaCards(Owner(tmp_path, pid=10), Missing({"count": 1}))
    assert not found.names
    assert found.sample() == {}
    assert found.facts() == {}
    assert "code 12" in (found.problem or "")

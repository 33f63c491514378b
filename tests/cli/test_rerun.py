"""Reruns: by the cell and by the rule for suspicious ones; what a kill leaves, and what a resume makes of it."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

SetRates = Callable[[dict[str, Sequence[float]]], None]
STEADY = [1.0] * 12
MODES = [1.0, 1.15, 1.0, 1.15, 1.15, 1.0, 1.0, 1.15, 1.0, 1.15, 1.15, 1.0]


def looks(desk: Any) -> list[str]:
    return [note for note in desk.contents.notes if note.startswith("look: ")]


def test_a_suspicious_cell_is_looked_at_until_its_modes_are_sure(
    desk: Any, set_rates: SetRates
) -> None:
    set_rates({"stock": STEADY, "splitkv": MODES})
    assert desk.run() == 0
    assert desk.shell("rerun", "latest", "--suspicious") == 0
    assert desk.rounds() == sorted([*range(1, 9)] * 2)
    assert looks(desk) == [
        "look: splitkv@512 at n = 4: suspect, bimodal?; rounds added, to 8",
        "look: splitkv@512 at n = 8: bimodal; no more rounds",
    ]
    for line in looks(desk):
        assert line in desk.out
        assert line in desk.err
    assert "bimodal - splitkv@512" in desk.out.replace("\n  ", " ")


def test_a_cell_that_was_unlucky_is_fine_at_eight_rounds(desk: Any, set_rates: SetRates) -> None:
    set_rates({"stock": STEADY, "splitkv": [1.0, 1.086, 1.04, 1.03, *[1.04] * 8]})
    assert desk.run() == 0
    assert desk.shell("rerun", "latest", "--suspicious") == 0
    assert max(desk.rounds()) == 8
    assert looks(desk)[-1] == "look: splitkv@512 at n = 8: ok; no more rounds"


def test_what_twelve_rounds_do_not_explain_is_unstable_and_final(
    desk: Any, set_rates: SetRates
) -> None:
    scattered = [1.0, 0.92, 0.96, 1.04, 0.88, 0.99, 0.94, 1.02, 0.90, 1.00, 0.95, 1.03]
    set_rates({"stock": STEADY, "splitkv": scattered})
    desk.run()
    desk.shell("rerun", "latest", "--suspicious")
    assert max(desk.rounds()) == 12
    assert [line.partition(" at ")[2] for line in looks(desk)] == [
        "n = 4: suspect; rounds added, to 8",
        "n = 8: suspect; rounds added, to 12",
        "n = 12: unstable; no more rounds",
    ]
    assert desk.shell("rerun", "latest", "--suspicious") in (0, 5)
    assert "nothing was run" in desk.err
    assert max(desk.rounds()) == 12


def test_only_the_suspicious_condition_is_rerun_with_every_arm(
    desk: Any, set_rates: SetRates
) -> None:
    set_rates({"splitkv": MODES})
    desk.run("--depths", "512,2048", "--rounds", "2")
    desk.shell("rerun", "latest", "--suspicious")
    records = [one for one in desk.contents.standing if one.counts]
    assert {one.arm for one in records if one.round > 2} == {"stock", "splitkv"}
    order = [one.arm for one in records if one.round in (3, 4) and one.depth == 512]
    assert order == ["splitkv", "stock", "stock", "splitkv"]


def test_nothing_suspicious_runs_nothing(desk: Any) -> None:
    assert desk.run() == 0
    before = len(desk.contents.records)
    assert desk.shell("rerun", "latest", "--suspicious") == 0
    assert "nothing was run" in desk.err
    assert len(desk.contents.records) == before


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--suspicious", "--cell", "splitkv@512"],
        ["--suspicious", "--rounds", "2"],
        ["--rounds", "2"],
    ],
)
def test_a_rerun_of_everything_and_nothing_is_refused(arguments: list[str], desk: Any) -> None:
    assert desk.run() == 0
    assert desk.shell("rerun", "latest", *arguments) == 2
    assert "--suspicious alone" in desk.err


@pytest.mark.parametrize("rounds", ["1", "3", "0", "-2"])
def test_odd_rounds_are_refused_for_a_rerun_as_for_a_run(rounds: str, desk: Any) -> None:
    assert desk.run("--rounds", rounds) == 2
    said = desk.err
    assert desk.run() == 0
    assert desk.shell("rerun", "latest", "--cell", "splitkv@512", "--rounds", rounds) == 2
    assert desk.err == said
    assert max(desk.rounds()) == 4


def test_a_rerun_that_was_killed_in_mid_block_is_run_again_to_the_end_of_its_pair(
    desk: Any,
) -> None:
    assert desk.run("--rounds", "2") == 0
    assert desk.shell("rerun", "latest", "--cell", "splitkv@512", "--rounds", "2") == 0
    whole = len(desk.contents.records)
    assert whole == 2 + 4 + 2 + 4
    desk.cut(whole - 3)  # round 3 lacks an arm, round 4 was not begun
    assert desk.rounds() == [1, 1, 2, 2, 3]
    assert desk.shell("run", str(desk.experiment), "--resume", "latest") == 0
    assert desk.rounds() == sorted([1, 2, 3, 4] * 2)
    assert len(desk.contents.superseded) == 1
    orders = [one.order for one in desk.contents.records]
    assert len(set(orders)) == len(orders)
    assert "incomplete" not in desk.out


def test_a_resume_that_was_killed_too_loses_no_block(desk: Any) -> None:
    desk.run("--rounds", "2")
    desk.shell("rerun", "latest", "--cell", "splitkv@512", "--rounds", "2")
    desk.cut(9)
    desk.shell("run", str(desk.experiment), "--resume", "latest")
    desk.cut(10)  # all that is left of the resume is that it replaced the old record
    assert desk.rounds() == [1, 1, 2, 2]
    assert desk.shell("run", str(desk.experiment), "--resume", "latest") == 0
    assert desk.rounds() == sorted([1, 2, 3, 4] * 2)


def test_progress_counts_the_trials_of_this_call(desk: Any) -> None:
    desk.run("--rounds", "2")
    desk.shell("rerun", "latest", "--cell", "splitkv@512", "--rounds", "2", "--log-json")
    said = [json.loads(line) for line in desk.err.splitlines() if line.startswith("{")]
    begun = [line for line in said if line["event"] == "trial started"]
    assert [line["number"] for line in begun] == [1, 2, 3, 4, 5, 6]
    assert {line["total"] for line in begun} == {6}

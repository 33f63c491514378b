"""`--gate` on `run` and `summary`: the exit code, the blocks that it adds, and what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from abtest.ledger import codec, store
from abtest.model.trial import Status
from abtest.runtimes.simulated import ArmTruth, Truth

SetRates = Callable[[dict[str, Sequence[float]]], None]


@pytest.mark.parametrize(
    ("gate", "code", "said"),
    [
        ("splitkv@512>=1.05", 0, "at splitkv@512: met"),
        ("splitkv@*>=1.05", 0, "at splitkv@512: met"),
        ("splitkv@512>=1.5", 1, "at splitkv@512: not met"),
    ],
)
def test_a_decided_gate_sets_the_exit_code_after_four_rounds(
    desk: Any, gate: str, code: int, said: str
) -> None:
    assert desk.run("--gate", gate) == code
    assert said in desk.out
    assert "look 1 at n = 4: ratio 1.2" in desk.out
    assert "one-sided level 2.38 % per look" in desk.out
    assert ("identity: simulated)" in desk.out) == (code == 0)
    assert desk.rounds() == [1, 1, 2, 2, 3, 3, 4, 4]


def test_one_gate_of_several_that_is_not_met_decides(desk: Any) -> None:
    assert desk.run("--gate", "splitkv@512>=1.05", "--gate", "splitkv@512>=1.5") == 1
    assert "gate not met: splitkv@512>=1.5" in desk.err
    assert ": met (" in desk.out


def test_an_open_gate_adds_blocks_up_to_the_last_look(desk: Any, set_rates: SetRates) -> None:
    noisy = [1.0, 1.03, 0.98, 1.01, 1.0, 0.97, 1.02, 0.99]
    set_rates({"stock": [1.0] * 8, "splitkv": noisy})
    assert desk.run("--rounds", "2", "--gate", "splitkv@512>=1") == 5
    assert [line.strip()[:15] for line in desk.out.splitlines() if "look " in line[:8]] == [
        "look 1 at n = 4",
        "look 2 at n = 6",
        "look 3 at n = 8",
    ]
    assert desk.rounds() == sorted([*range(1, 9)] * 2)
    assert "n = 4: inconclusive; rounds added, to 6" in desk.err
    # one warm-up per arm for the session, not one per look
    assert sum(one.discarded for one in desk.contents.records) == 2
    assert desk.shell("summary", "latest") == 0
    assert "look: gate splitkv@512>=1.0 at splitkv@512, n = 6" in desk.out
    assert desk.shell("summary", "latest", "--gate", "splitkv@512>=1") == 5


def test_a_lower_cap_ends_the_looks_earlier(desk: Any, set_rates: SetRates) -> None:
    set_rates({"stock": [1.0] * 8, "splitkv": [1.0, 1.03, 0.98, 1.01]})
    assert desk.run("--gate", "splitkv@512>=1", "--gate-rounds", "4") == 5
    assert max(desk.rounds()) == 4


def test_only_the_open_condition_gets_more_blocks(desk: Any, set_rates: SetRates) -> None:
    set_rates({"stock": [1.0] * 8, "splitkv": [1.0, 1.03, 0.98, 1.01, 1.0, 0.97, 1.02, 0.99]})
    assert (
        desk.run("--depths", "512,2048", "--gate", "splitkv@2048>=1", "--gate", "splitkv@512>=0.5")
        == 5
    )
    assert max(desk.rounds(2048)) == 8
    assert max(desk.rounds(512)) == 4


def test_a_bimodal_candidate_is_judged_by_its_worst_pair(desk: Any, set_rates: SetRates) -> None:
    set_rates({"stock": [1.0] * 8, "splitkv": [0.7, 1.0, 1.0, 0.7, 0.7, 1.0, 0.7, 1.0]})
    assert desk.run("--gate", "splitkv@512>=1.1") == 1
    assert "worst pair of modes" in desk.out


def test_a_wrong_file_exits_with_3_and_is_never_a_pass(
    desk: Any, set_truth: Callable[[Truth], None]
) -> None:
    set_truth(Truth(foreign_code=frozenset({"r03-512-s1-splitkv"})))
    assert desk.run("--gate", "splitkv@512>=0.1") == 3
    assert desk.shell("summary", "latest", "--gate", "splitkv@512>=0.1") == 3
    assert "not proved" in desk.err


def test_nothing_compared_exits_with_5(desk: Any) -> None:
    assert desk.run("--gate", "splitkv@512>=0.1") == 0
    path = desk.latest / store.LEDGER
    records = [replace(one, status=Status.FAILED) for one in desk.contents.records]
    path.write_text("".join(codec.encode(one) for one in records))
    assert desk.shell("summary", "latest", "--gate", "splitkv@512>=0.1") == 5
    path.write_text("")
    assert desk.shell("summary", "latest", "--gate", "splitkv@512>=0.1") == 5


def test_a_gate_on_some_rounds_sees_only_those(desk: Any) -> None:
    assert desk.run() == 0
    assert desk.shell("summary", "latest", "--rounds", "1-2", "--gate", "splitkv@512>=1.05") == 5
    assert "2 whole blocks, the first look needs 4" in desk.out


def test_the_gate_of_a_killed_run_is_judged_after_resume(
    desk: Any, set_truth: Callable[[Truth], None]
) -> None:
    set_truth(Truth(arms={"splitkv": ArmTruth(10.0, 0.2)}))
    assert desk.run() == 0
    desk.cut(6)
    arguments = ("--resume", "latest", "--gate", "splitkv@512>=1.05")
    assert desk.shell("run", str(desk.experiment), *arguments) == 0
    assert len(desk.rounds()) == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gate", "splitkv@512"], "is not a gate"),
        (["--gate", "splitkv@513>=1"], "no such condition"),
        (["--gate", "stock@512>=1"], "not a candidate"),
        (["--gate", "nobody@*>=1"], "not a candidate"),
        (["--gate", "splitkv@512>=1", "--gate-rounds", "5"], "4, 6 and 8"),
    ],
)
def test_a_gate_that_cannot_be_judged_is_refused_before_anything_runs(
    arguments: list[str], words: str, desk: Any
) -> None:
    assert desk.run(*arguments) == 2
    assert words in desk.err
    assert not desk.results.exists()


def test_the_json_holds_every_look(desk: Any) -> None:
    assert desk.run() == 0
    (gate,) = desk.summary("--gate", "splitkv@512>=1.05")["gates"]
    assert (gate["decision"], gate["rounds"], gate["ratio"]) == ("met", 4, 1.05)
    (look,) = gate["looks"]
    assert look["low"] < look["ratio"] < look["high"]
    assert look["level"] == pytest.approx(0.0238)


def test_the_comment_and_the_page_show_the_gate_and_end_as_the_summary_does(
    desk: Any, tmp_path: Path
) -> None:
    assert desk.run() == 0
    page, comment = tmp_path / "page.html", tmp_path / "comment.md"
    for ratio, code, words in (("1.05", 0, "1 met"), ("9", 1, "1 not met")):
        gate = ("--gate", f"splitkv@512>={ratio}")
        assert desk.shell("export", "latest", "--pr", *gate) == code
        assert f"**Gates: {words}.**" in desk.out
        assert f"gate splitkv@512&gt;={float(ratio)!r} at splitkv@512: {words[2:]}" in desk.out
        comment.write_text(desk.out)
        assert desk.shell("verify", "latest", str(comment)) == 0
        assert desk.shell("report", "latest", "--out", str(page), *gate) == code
        assert f"at splitkv@512: {words[2:]} (" in page.read_text()
    assert desk.shell("export", "latest", "--pr", "--gate", "nobody@512>=1") == 2
    assert desk.shell("report", "latest", "--gate", "splitkv@513>=1") == 2

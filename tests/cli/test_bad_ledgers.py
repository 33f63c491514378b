"""What may lie in a ledger, each through `abtest summary`: a clear statement and the right exit code."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from abtest.cli.main import main
from abtest.ledger import codec, store
from abtest.model.trial import Pair, RankIdentity, RouteCount, Status, TrialRecord

SHA = "ab" * 32


def trial(arm: str, number: int, slot: int, rate: float, depth: int = 512) -> TrialRecord:
    return TrialRecord(
        "demo", f"r{number}-{depth}-{arm}", SHA, arm, depth, 1, number, slot, 2 * number + slot, discarded=False,
        status=Status.OK, started_at="", isolation="docker", tokens=(8, 64),
        pairs=(Pair(0.5, 0.5 + 56 / rate, "short"),), environment={"engine.tensor_parallel": "1"},
        identity=tuple(
            RankIdentity(0, 1, when, "k.py", "/k.py", f"{arm}-md5-of-file", arm, "c", "c", match=True)
            for when in ("before", "after")
        ),
        routes=(RouteCount(0, "decode", {"split": arm != "stock"}, 3),),
    )  # fmt: skip


def rounds(count: int, depth: int = 512) -> list[TrialRecord]:
    found = []
    for number in range(1, count + 1):
        order = ("stock", "fast") if number % 4 in (0, 1) else ("fast", "stock")
        for slot, arm in enumerate(order, start=1):
            rate = (50.0 if arm == "stock" else 60.0) + 0.1 * (number % 3)
            found.append(trial(arm, number, slot, rate, depth))
    return found


def run_folder(tmp_path: Path, lines: Iterable[TrialRecord | str]) -> str:
    body = {
        "schema": 1, "kind": "run", "run": "demo", "experiment": "demo", "experiment_path": "-", "created": "",
        "spec_sha256": SHA, "parts": {}, "baseline": "stock", "conditions": [[512, 1]], "rounds": 4,
        "arms": {arm: {"file": f"k.py (md5 {arm})"} for arm in ("stock", "fast")}, "isolation": "docker",
        "why_runtime": "-", "image": {}, "host": "-", "abtest": "-", "estimator": "differential",
    }  # fmt: skip
    store.write_json(tmp_path / store.RUN, body)
    texts = (line if isinstance(line, str) else codec.encode(line) for line in lines)
    (tmp_path / store.LEDGER).write_text("".join(texts))
    return str(tmp_path)


def summary(folder: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    code = main(["summary", folder, "--format", "json"])
    said = capsys.readouterr()
    return code, json.loads(said.out), said.err


def named(flags: object) -> set[str]:
    assert isinstance(flags, list)
    return {one["name"] for one in flags}


def test_alien_lines_are_named_counted_and_cost_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aliens = [f"alien {number}\n" for number in range(30)]
    code, body, err = summary(
        run_folder(
            tmp_path,
            [*aliens, *rounds(4), '{"torn'],
        ),
        capsys,
    )
    assert code == 0
    assert body["dropped"] == {"unreadable lines": 31}
    assert "ledger.jsonl: line 1: not a record" in err
    assert "and 20 more lines that cannot be read" in err
    assert "line 11" not in err
    assert "the last line is torn" in err
    assert main(["summary", str(tmp_path)]) == 0
    assert "not counted: 31 unreadable lines" in capsys.readouterr().out


def test_records_of_a_newer_schema_are_not_guessed_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = [codec.encode(one).replace('"schema":1', '"schema":2') for one in rounds(6)[8:]]
    older = [json.dumps({k: v for k, v in json.loads(codec.encode(one)).items() if k != "telemetry"}) + "\n"
             for one in rounds(4)]  # fmt: skip
    code, body, err = summary(run_folder(tmp_path, [*older, *newer]), capsys)
    assert code == 0
    assert body["cells"][0]["n"] == 4
    assert body["dropped"] == {"unreadable lines": 4}
    assert "line 9: schema 2 is not known here" in err


def test_one_arm_alone_compares_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, body, err = summary(
        run_folder(tmp_path, [one for one in rounds(4) if one.arm == "fast"]), capsys
    )
    assert code == 5
    assert "nothing could be compared" in err
    assert body["effects"][0]["speedup"] is None
    assert "incomplete" in named(body["flags"])


def test_one_round_gives_a_ratio_without_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, body, _ = summary(run_folder(tmp_path, rounds(1)), capsys)
    (effect,) = body["effects"]
    assert code == 0
    assert effect["speedup"] == pytest.approx(1.2, abs=0.01)
    assert (effect["interval"], effect["verdict"]) == (None, "inconclusive")
    assert body["cells"][0]["spread_pct"] is None


@pytest.mark.parametrize("status", [Status.VOID, Status.FAILED, Status.INVALID])
def test_no_valid_trial_compares_nothing_and_says_what_became_of_them(
    status: Status, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = [replace(one, status=status, reason="why: so") for one in rounds(4)]
    code, body, err = summary(run_folder(tmp_path, lost), capsys)
    assert code == 5
    assert body["dropped"] == {status.value: 8}
    assert "nothing could be compared" in err


def test_a_run_whose_baseline_is_none_of_its_arms_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path, rounds(4))
    body = json.loads((tmp_path / store.RUN).read_text())
    store.write_json(tmp_path / store.RUN, {**body, "baseline": "stok"})
    assert main(["summary", folder]) == 3
    assert "its baseline 'stok' is none of its arms" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "value"),
    [("env", "FAST=1"), ("args", ["a"]), ("files", [{"target": "k.py"}]), ("files", "k.py")],
)
def test_an_arm_of_another_form_is_damaged(
    key: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path, rounds(4))
    body = json.loads((tmp_path / store.RUN).read_text())
    body["arms"]["fast"][key] = value
    store.write_json(tmp_path / store.RUN, body)
    assert main(["summary", folder]) == 3
    assert "run.json is damaged" in capsys.readouterr().err


def test_an_empty_ledger_compares_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, body, _ = summary(run_folder(tmp_path, []), capsys)
    assert code == 5
    assert body["cells"] == []


def test_a_time_that_is_no_number_spoils_its_line_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = codec.encode(rounds(5)[-1]).replace('"t_short_s":0.5', '"t_short_s":NaN')
    code, body, err = summary(run_folder(tmp_path, [*rounds(4), bad]), capsys)
    assert code == 0
    assert body["dropped"] == {"unreadable lines": 1}
    assert "line 9: not a record" in err


def test_a_difference_that_is_not_positive_withholds_the_ratio(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Leaving that round out would choose rounds by their value, and make the arm look better than it is."""
    found = rounds(4)
    found[3] = replace(found[3], pairs=(Pair(1.5, 1.4, "short"),))
    code, body, _ = summary(run_folder(tmp_path, found), capsys)
    (effect,) = body["effects"]
    assert code == 5
    assert (effect["speedup"], effect["verdict"]) == (None, "inconclusive")
    assert any("drowned" in named(one["flags"]) for one in body["cells"])


def test_thousands_of_cells_are_all_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = [one for depth in range(1, 1501) for one in rounds(2, depth)]
    folder = run_folder(tmp_path, many)
    code, body, _ = summary(folder, capsys)
    assert code == 0
    assert (len(body["cells"]), len(body["effects"])) == (3000, 1500)
    assert main(["summary", folder]) == 0
    assert " fast@1500 " in capsys.readouterr().out


def test_many_rounds_show_their_beginning_and_their_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", run_folder(tmp_path, rounds(100))]) == 0
    said = capsys.readouterr().out
    assert said.count("(88 more)") >= 1
    assert len(said) < 10_000

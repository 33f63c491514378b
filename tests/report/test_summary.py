"""The table and the JSON, from a simulated run with a known truth; golden where digits matter."""

import json
from pathlib import Path

import pytest

from abtest.analysis.summary import summarize
from abtest.cli.main import main
from abtest.ledger import store
from abtest.model.result import Difference
from abtest.model.trial import Pair, RankIdentity, RouteCount, Status, TrialRecord
from abtest.report import jsonout, terminal

TAU_S = {"stock": 0.020, "fast": 0.010}


def record(arm: str, number: int, slot: int, **change: object) -> TrialRecord:
    """A proved trial with a rate that depends on the arm and, by a per mille, on the round."""
    difference_s = 56 * TAU_S[arm] * (1 + 0.001 * number)
    identity = tuple(
        RankIdentity(
            rank,
            10 + rank,
            when,
            "pkg/k.py",
            "/pkg/k.py",
            f"{arm}-md5-hash",
            arm,
            "c",
            "c",
            match=True,
        )
        for rank in (0, 1)
        for when in ("before", "after")
    )
    values: dict[str, object] = {
        "run": "demo-1", "trial": f"r{number}-{arm}", "spec_sha256": "s", "arm": arm, "depth": 512, "batch": 1,
        "round": number, "slot": slot, "order": 2 * number + slot, "discarded": False, "status": Status.OK,
        "started_at": "2026-01-31T00:00:00Z", "isolation": "docker", "tokens": (8, 64),
        "pairs": (Pair(1.0, 1.0 + difference_s, "short"),), "token_s_per_token": (TAU_S[arm],),
        "identity": identity, "environment": {"engine.tensor_parallel": "2"},
        "routes": (RouteCount(0, "decode", {"use_splitkv": arm == "fast"}, 3),),
    }  # fmt: skip
    return TrialRecord(**{**values, **change})  # type: ignore[arg-type]  # the fields vary


def records(rounds: int = 4, **change: object) -> list[TrialRecord]:
    orders = {
        1: ("stock", "fast"),
        2: ("fast", "stock"),
        3: ("fast", "stock"),
        4: ("stock", "fast"),
    }
    return [
        record(arm, number, slot, **change)
        for number in range(1, rounds + 1)
        for slot, arm in enumerate(orders[number], start=1)
    ]


def summary(found: list[TrialRecord], rounds: tuple[int, int] | None = None):  # type: ignore[no-untyped-def]  # noqa: ANN201 - a Summary
    declared = (
        Difference("file", {"stock": "k.py (md5 stock-md)", "fast": "k.py (md5 fast-md5)"}),
    )
    return summarize(
        found,
        run="demo-1",
        experiment="demo",
        baseline="stock",
        arms=("stock", "fast"),
        declared=declared,
        rounds=rounds,
    )


def test_a_clean_effect_comes_out_as_planted() -> None:
    found = summary(records())
    (effect,) = found.effects
    assert effect.speedup == pytest.approx(2.0, rel=1e-3)
    assert effect.verdict.value == "faster"
    assert effect.interval is not None
    assert effect.interval.method.startswith("paired t")
    assert found.identity == "proved"
    assert found.flags == ()
    assert found.order == (
        ("stock", "fast"),
        ("fast", "stock"),
        ("fast", "stock"),
        ("stock", "fast"),
    )


def test_two_rounds_claim_no_more_than_they_can() -> None:
    found = summary(records(), rounds=(1, 2))
    assert [cell.n for cell in found.cells] == [2, 2]
    assert found.effects[0].interval is not None
    assert found.effects[0].interval.method == "range of observed ratios"
    assert {flag.name for cell in found.cells for flag in cell.flags} == {"few-rounds"}


def test_a_missing_rank_is_not_proved_and_gets_no_ratio() -> None:
    whole = records()
    found = summary([*whole[:-1], record("fast", 4, 2, identity=whole[-1].identity[:2])])
    assert found.identity == "not proved"
    assert found.effects[0].speedup is None
    assert found.effects[0].verdict.value == "invalid"


def test_b2_equal_routes_get_no_ratio() -> None:
    found = summary(records(routes=(RouteCount(0, "decode", {"use_splitkv": True}, 3),)))
    assert [flag.name for flag in found.flags] == ["routes-equal"]
    assert found.effects[0].speedup is None


def test_an_undeclared_difference_gets_no_ratio() -> None:
    found = summary(
        [
            record(r.arm, r.round, r.slot, environment={**r.environment, "env.X": r.arm})
            for r in records()
        ]
    )
    assert [flag.name for flag in found.flags] == ["undeclared-difference"]
    assert found.effects[0].verdict.value == "inconclusive"


def test_a_block_without_an_arm_does_not_enter_the_effect() -> None:
    found = summary(records()[:-1])
    assert found.effects[0].interval is not None
    assert "range" in found.effects[0].interval.method
    assert "incomplete" in {flag.name for flag in found.flags}


def test_warm_ups_failures_and_voids_are_counted_not_averaged() -> None:
    extra = [
        record("fast", 1, 2, status=Status.VOID),
        record("stock", 0, 1, discarded=True),
        record("fast", 1, 2, status=Status.FAILED),
    ]
    found = summary([*records(), *extra])
    assert found.dropped == {"failed": 1, "void": 1, "warm-up": 1}
    assert [cell.n for cell in found.cells] == [4, 4]
    assert [cell.voids for cell in found.cells] == [0, 1]


def test_nothing_at_all_is_a_summary_too() -> None:
    found = summary([])
    assert (found.cells, found.effects, found.identity) == ((), (), "not proved")
    assert terminal.render(found, width=80, color=False)


def test_d_that_is_not_positive_is_flagged_and_gets_no_ratio() -> None:
    found = summary([*records()[:-1], record("fast", 4, 2, pairs=(Pair(2.0, 1.0, "short"),))])
    assert "drowned" in {flag.name for cell in found.cells for flag in cell.flags}
    assert found.effects[0].speedup is None


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_table_keeps_its_width_and_every_fact(width: int, repository: Path) -> None:
    text = terminal.render(summary(records()), width=width, color=False)
    golden = repository / "tests" / "golden" / f"table-{width}.txt"
    assert text == golden.read_text(), "a change on purpose: write the text into the golden file"
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert "\x1b" in terminal.render(summary(records()), width=width, color=True)


def test_the_json_has_stable_keys(repository: Path) -> None:
    text = jsonout.render(summary(records()))
    assert text == (repository / "tests" / "golden" / "summary.json").read_text()
    assert set(json.loads(text)["cells"][0]) >= {
        "arm",
        "depth",
        "batch",
        "n",
        "voids",
        "rates_tok_s",
        "leverage",
        "flags",
    }


def test_foreign_text_cannot_reach_the_terminal() -> None:
    odd = summarize([], run="\x1b[31mrun", experiment="e", baseline="a", arms=("a",))
    assert "\x1b" not in terminal.render(odd, width=80, color=False)


def test_a_fault_of_the_ledger_is_named_beside_the_table(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = str(repository / "arms" / "reference")
    assert (
        main(
            [
                "run",
                experiment,
                "--simulate",
                "--depths",
                "512",
                "--rounds",
                "2",
                "--results",
                str(tmp_path),
            ]
        )
        == 0
    )
    ledger = (tmp_path / "latest").resolve() / store.LEDGER
    ledger.write_text(ledger.read_text() + "alien\n{torn")
    capsys.readouterr()
    assert main(["summary", "latest", "--results", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "line 7: " in said.err
    assert "torn" in said.err
    assert main(["summary", "latest", "--results", str(tmp_path), "--rounds", "3-4"]) == 5
    assert main(["summary", "latest", "--results", str(tmp_path), "--rounds", "2-1"]) == 2

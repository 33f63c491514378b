"""The published experiment as a table and as JSON, held by golden files.

After a change on purpose, write them again with `ABTEST_WRITE_GOLDEN=1 pytest tests/report`, and read the diff.
"""

import csv
import json
import os
import re
from pathlib import Path

import pytest

from abtest.analysis.summary import summarize
from abtest.model.result import Difference, Summary
from abtest.model.trial import Pair, Status, TrialRecord
from abtest.report import jsonout, terminal
from abtest.report.neutralise import neutral

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
HOSTILE = "a\x1b[2Jb\x9b31mc\u202ed\ne"


def published(names: tuple[str, ...] = (), **change: object) -> Summary:
    """Summarise the published figures; facts with these names differ between the arms."""
    with (GOLDEN / "published.csv").open(encoding="utf-8", newline="") as file:
        records = [
            TrialRecord(
                "published", f"t{place}", "-", row["arm"], int(row["depth"]), 1, int(row["round"]),
                int(row["order_in_round"]), place, discarded=False, status=Status.OK, started_at="",
                isolation="imported", tokens=(8, 64),
                pairs=(Pair(float(row["t8_s"]), float(row["t64_s"]), "short"),),
                environment=dict.fromkeys(names, row["arm"]),
            )
            for place, row in enumerate(csv.DictReader(file), start=1)
        ]  # fmt: skip
    values: dict[str, object] = {
        "run": "published-ab", "experiment": "published", "baseline": "stock",
        "arms": ("stock", "splitkv"), "declared": (),
    }  # fmt: skip
    return summarize(records, **{**values, **change})  # type: ignore[arg-type]  # the options vary


def held(name: str, text: str) -> None:
    path = GOLDEN / "report" / name
    if os.environ.get("ABTEST_WRITE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "see the first lines of this file"


def words(text: str) -> str:
    """The text without its layout: what wrapping and lines must not change."""
    return "".join(text.split())


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_published_table(width: int) -> None:
    text = terminal.render(published(), width=width, color=False)
    held(f"published-{width}.txt", text)
    assert max(map(len, text.splitlines())) <= width


def test_the_published_json() -> None:
    text = jsonout.render(published())
    held("published.json", text)
    body = json.loads(text)
    assert [trend["arm"] for trend in body["depth"]] == ["stock", "splitkv"]
    assert body["effects"][1]["n"] == {"baseline": 2, "candidate": 4}


@pytest.mark.parametrize("width", [60, 78, 80, 99, 100, 120, 200])
def test_no_width_cuts_a_figure_a_verdict_or_a_flag(width: int) -> None:
    """A column that is too narrow must wrap: rich would drop or shorten it without a word."""
    shown = terminal.render(published(), width=width, color=False)
    tables, tokens = shown.partition("\nn is the number")[0], set(shown.split())
    for cell in published().cells:
        assert str(cell.cell) in tables
        assert all(flag.name in tables for flag in cell.flags)
    wanted = {"16.8", "9.46x", "(9.45x", "9.20", "9.73", "3.83", "3.81", "7.408,", "0.262,"}
    assert wanted <= tokens
    assert tables.count("inconclusive") == 3
    assert all(re.search(rf"\b{part}\b", tables) for part in (r"21\.3", r"7\.9"))


def test_a_long_value_wraps_and_is_not_cut() -> None:
    value = "--" + "-".join(str(number) for number in range(60))
    declared = (Difference("args", {"stock": "-", "splitkv": value}),)
    text = terminal.render(published(declared=declared), width=80, color=False)
    assert value in words(text)


def test_fewer_than_four_rounds_say_what_they_cannot_claim() -> None:
    text = terminal.render(published(), width=200, color=False)
    assert "Fewer than four rounds: no verdict, no p-value and no error bar" in text


@pytest.mark.parametrize("color", [True, False])
def test_foreign_text_is_neutralised_in_every_place(color: bool) -> None:  # noqa: FBT001 - both
    odd = Difference(f"env.{HOSTILE}", {"stock": HOSTILE, "splitkv": HOSTILE})
    found = published((HOSTILE,), run=HOSTILE, experiment=HOSTILE, declared=(odd,))
    text = terminal.render(found, width=120, color=color)
    assert "\x1b[2J" not in text
    assert "\x9b" not in text
    assert "\u202e" not in text
    assert "undeclared-difference - run: a\\x1b[2Jb" in text
    assert jsonout.render(found).isascii()


def test_neutral_text_keeps_what_is_printable() -> None:
    assert neutral("splitkv@8192 é 漢") == "splitkv@8192 é 漢"
    assert neutral("a\nb\u202ec") == "a\\x0ab\\u{202e}c"

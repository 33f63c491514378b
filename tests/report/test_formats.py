"""Markdown, CSV and JSON of one summary: golden files, the committed schema, and text that stays text."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from abtest.model.result import Summary
from abtest.report import csvout, jsonout, markdown
from abtest.report.jsonschema import schema_text
from tests.report import test_published_table as published
from tests.report import test_summary as simulated


def rows(summary: Summary) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csvout.render(summary))))


def test_the_published_markdown() -> None:
    published.held("published.md", markdown.render(published.published()))


def test_the_published_csv() -> None:
    published.held("published.csv", csvout.render(published.published()))


def test_a_row_of_the_csv_holds_the_cell_and_its_effect_in_full() -> None:
    found = simulated.summary(simulated.records())
    base, fast = rows(found)
    assert (base["arm"], base["speedup"], base["verdict"]) == ("stock", "", "")
    assert float(fast["speedup"]) == found.effects[0].speedup
    assert float(fast["rate_4_tok_s"]) == found.cells[1].rates_tok_s[3]
    assert fast["verdict"] == "faster"
    two = rows(simulated.summary(simulated.records(), rounds=(1, 1)))
    assert "rate_2_tok_s" not in two[0]


def test_an_invalid_effect_has_no_ratio_in_any_column() -> None:
    whole = simulated.records()
    bad = [*whole[:-1], simulated.record("fast", 4, 2, identity=())]
    fast = rows(simulated.summary(bad))[1]
    assert fast["verdict"] == "invalid"
    assert (fast["speedup"], fast["interval_low"], fast["basis_speedup"]) == ("", "", "")


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t=", "\r=", " =", "'=", "\uff1d"])
def test_no_text_is_a_formula(first: str) -> None:
    text = f'{first}HYPERLINK("http://evil.example")'
    found = published.published(run=text, experiment=text)
    for row in rows(found):
        for column in ("run", "experiment"):
            assert row[column][0] not in "=+-@\t\r \uff1d"
    assert rows(published.published(run="-5"))[0]["run"] == "'-5"


def test_a_number_below_zero_stays_a_number() -> None:
    values = [line["interval_low"] for line in rows(published.published())]
    assert all(not value or float(value) for value in values)


def test_the_committed_schema_of_summaries_is_not_stale(repository: Path) -> None:
    committed = (repository / "docs" / "summary.schema.json").read_text()
    assert committed == schema_text(), "run: make schema"


@pytest.mark.parametrize("rounds", [None, (1, 1), (9, 9)])
def test_every_summary_is_of_the_schema(rounds: tuple[int, int] | None) -> None:
    schema = json.loads(schema_text())
    for found in (published.published(rounds=rounds), simulated.summary(simulated.records(), rounds)):  # fmt: skip
        jsonschema.validate(json.loads(jsonout.render(found)), schema)


def _without_n(body: Any) -> None:
    del body["cells"][0]["n"]


def _extra(body: Any) -> None:
    body["effects"][0]["speed_up"] = 2.0


def _text_rate(body: Any) -> None:
    body["cells"][0]["mean_tok_s"] = "fast"


def _other_schema(body: Any) -> None:
    body["schema"] = 2


@pytest.mark.parametrize("spoil", [_without_n, _extra, _text_rate, _other_schema])
def test_the_schema_refuses_what_is_not_agreed(spoil: Any) -> None:
    body = json.loads(jsonout.render(simulated.summary(simulated.records())))
    spoil(body)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, json.loads(schema_text()))

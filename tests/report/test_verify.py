"""Break tests: a figure of a document against the published run, right and wrong in each way."""

import pytest

from abtest.model.result import Summary
from abtest.report import maintable, markdown, verify
from abtest.report.quotes import Figure, Table, quotes
from tests.report import test_published_table as published
from tests.report import test_summary as simulated


def said(line: str, summary: Summary | None = None) -> str | None:
    (found,) = quotes(line)
    assert isinstance(found, Figure)
    return verify.check_figure(published.published() if summary is None else summary, found)


@pytest.mark.parametrize(
    "line",
    [
        "1.38x <!-- ab: speedup splitkv@1024 -->", "3.52x <!-- ab: speedup splitkv@8192 -->",
        "9.46x <!-- ab: speedup splitkv@32768 -->", "9.46 <!-- ab: speedup splitkv/stock@32768 -->",
        "261.9 ms <!-- ab: ms stock@32768 -->", "27.7 ms <!-- ab: ms splitkv@32768 -->",
        "7.408 <!-- ab: slope stock -->", "0.262 ms per 1000 tokens <!-- ab: slope splitkv -->",
        "10.2 % <!-- ab: retention stock -->", "70.0 % <!-- ab: retention splitkv -->",
        "16.8 % <!-- ab: spread splitkv@8192 -->", "44.3 tok/s <!-- ab: tok_s splitkv@8192 -->",
        "6.0 <!-- ab: leverage splitkv@8192 -->", "4 rounds <!-- ab: n splitkv@8192 -->",
        "4x <!-- ab: speedup splitkv@8192 -->", "70 % <!-- ab: retention splitkv@x1 -->",
    ],
)  # fmt: skip
def test_every_published_digit_holds(line: str) -> None:
    assert said(line) is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        # an edited value, and one digit too many
        ("3.53x <!-- ab: speedup splitkv@8192 -->", "the document says 3.53, the ledger gives 3.51583"),
        ("3.520x <!-- ab: speedup splitkv@8192 -->", "the document says 3.520"),
        ("5 rounds <!-- ab: n splitkv@8192 -->", "the ledger gives 4"),
        # the wrong unit, hidden in a bare number
        ("0.2619 <!-- ab: ms stock@32768 -->", "the ledger gives 261.91"),
        ("0.70 <!-- ab: retention splitkv -->", "the ledger gives 69.9"),
        # the wrong arm
        ("27.7 ms <!-- ab: ms stock@32768 -->", "the ledger gives 261.91"),
        ("70.0 % <!-- ab: retention stock -->", "the ledger gives 10.2"),
        # the wrong denominator: the inverse, 1024 for 1000 tokens, mean times for mean rates, another baseline
        ("0.284x <!-- ab: speedup splitkv@8192 -->", "the ledger gives 3.51583"),
        ("7.586 <!-- ab: slope stock -->", "the ledger gives 7.40836"),
        ("3.50x <!-- ab: speedup splitkv@8192 -->", "the ledger gives 3.51583"),
        ("0.28x <!-- ab: speedup stock/splitkv@8192 -->", "divides by stock, not by splitkv"),
        ("1.00x <!-- ab: speedup stock@8192 -->", "stock is the baseline"),
        # an unknown cell or arm
        ("3.52x <!-- ab: speedup splitkv@4096 -->", "no such cell; it has stock@1024, splitkv@1024"),
        ("3.52x <!-- ab: speedup other@8192 -->", "no such cell"),
        ("3.52x <!-- ab: speedup splitkv@8192x2 -->", "no such cell"),
        ("3.52x <!-- ab: speedup splitkv -->", "is not a cell"),
        ("70.0 % <!-- ab: retention other -->", "has no two depths of it"),
        ("70.0 % <!-- ab: retention splitkv@8192 -->", "write ARM, or ARM@xBATCH"),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_named(line: str, why: str) -> None:
    found = said(line)
    assert found is not None
    assert line.partition("ab: ")[2].partition(" -->")[0] in found
    assert why in found


def test_a_speed_up_that_may_not_be_printed_may_not_be_quoted() -> None:
    whole = simulated.records()
    bad = simulated.summary([*whole[:-1], simulated.record("fast", 4, 2, identity=())])
    assert "the verdict is invalid" in (said("2.00x <!-- ab: speedup fast@512 -->", bad) or "")
    empty = simulated.summary([simulated.record("stock", 1, 1)])
    assert "no value of it (n = 0)" in (said("1 <!-- ab: ms fast@512 -->", empty) or "")
    assert "1" in (said("0 <!-- ab: n stock@512 -->", empty) or "")


def test_half_a_unit_of_the_last_digit_still_holds() -> None:
    assert verify.holds("0.1", 0.15)
    assert verify.holds("0.2", 0.15)
    assert not verify.holds("0.1", 0.1501)
    assert not verify.holds("-3.5", 3.5)


def table_findings(text: str) -> list[tuple[int, str]]:
    (found,) = (one for one in quotes(text) if isinstance(one, Table))
    return list(verify.check_table(published.published(), found))


def test_an_exported_table_holds_as_it_is() -> None:
    assert table_findings(markdown.render(published.published())) == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("3.52x", "3.92x", "`splitkv@8192`, speed-up: the document says"),
        (", bimodal?", "", "`splitkv@8192`, flags: the document says"),
        ("| `splitkv@1024` |", "| `splitkv@2048` |", "`splitkv@2048`: the table has no such row"),
        ("| `splitkv@1024` |", "| `splitkv@8192` |", "`splitkv@8192`: the table has no such row, or has it already"),
        (" | verdict | ", " | ", "the columns are not those that were exported"),
        (" | inconclusive | ", " | ", "9 columns, 10 were exported"),
        ("published-ab -->\n", "published-ab -->\n\n", "no table stands right below"),
    ],
)  # fmt: skip
def test_a_table_that_was_edited_is_found_out(old: str, new: str, why: str) -> None:
    text = markdown.render(published.published())
    assert old in text
    found = table_findings(text.replace(old, new, 1))
    assert any(why in one for _, one in found), found
    assert all(line > 5 for line, _ in found)


def test_a_row_left_out_is_found_out() -> None:
    lines = markdown.render(published.published()).splitlines()
    text = "\n".join(line for line in lines if not line.startswith("| `splitkv@8192` | 12.6"))
    ((line, why),) = table_findings(text)
    assert line == lines.index(maintable.marker("published-ab")) + 1
    assert why == "`splitkv@8192`: the row is missing from the table"


def test_a_table_of_some_rounds_only_carries_no_marker() -> None:
    assert "<!--" not in markdown.render(published.published(rounds=(1, 2)), whole=False)

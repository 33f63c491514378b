"""Which comments of a document ask for a check, and what they are read as."""

import pytest

from abtest.report.quotes import Figure, Table, Unreadable, quotes


def one(text: str) -> Figure | Table | Unreadable:
    (found,) = quotes(text)
    return found


@pytest.mark.parametrize(
    ("before", "figure", "unit"),
    [
        ("it is 3.72x ", "3.72", "x"), ("**3.72x**", "3.72", "x"), ("*3.72* ", "3.72", ""), ("`3.72x` ", "3.72", "x"),
        ("(3.72x) ", "3.72", "x"), ("from 2.1 to 3.72 x", "3.72", "x"), ("| 3.72×", "3.72", "×"),  # noqa: RUF001 - the sign
        ("≈3.72-fold ", "3.72", "-fold"),
    ],
)  # fmt: skip
def test_a_figure_stands_right_before_its_comment(before: str, figure: str, unit: str) -> None:
    found = one(f"{before}<!-- ab: speedup splitkv@8192 --> and so on")
    assert found == Figure(1, None, "speedup", "splitkv@8192", figure, unit)


@pytest.mark.parametrize(
    ("quantity", "unit"),
    [("tok_s", "tok/s"), ("ms", "ms per token"), ("spread", "%"), ("retention", "%"), ("leverage", ""), ("n", "rounds"),
     ("slope", "ms per 1000 tokens"), ("slope", "ms/token per 1000 tokens")],
)  # fmt: skip
def test_each_quantity_has_its_units(quantity: str, unit: str) -> None:
    found = one(f"12.5 {unit} <!--ab: {quantity} a@1-->")
    assert isinstance(found, Figure)
    assert (found.text, found.unit) == ("12.5", unit)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("24.0 tok/s <!-- ab: ms stock@512 -->", "has the unit 'tok/s'; ms is in ms"),
        ("0.024 s <!-- ab: ms stock@512 -->", "has the unit 's'"),
        ("70 ms <!-- ab: retention splitkv -->", "has the unit 'ms'; retention is in %"),
        ("7.586 ms per 1024 tokens <!-- ab: slope stock -->", "has the unit 'ms per 1024 tokens'"),
        ("much faster <!-- ab: speedup a@1 -->", "no figure stands right before"),
        ("1,234.5 <!-- ab: tok_s a@1 -->", "no figure stands right before"),
        ("1e3 <!-- ab: tok_s a@1 -->", "no figure stands right before"),
        ("3.72x, so <!-- ab: speedup a@1 -->", "no figure stands right before"),
        ("3.72x <!-- ab: speed-up a@1 -->", "is not understood"),
        ("3.72x <!-- ab: speedup -->", "is not understood"),
        ("3.72x <!-- ab: speedup a@1 b@2 -->", "is not understood"),
        ("3.72x <!-- ab: -->", "is not understood"),
        ("3.72x <!-- ab: speedup a@1", "does not end on its line"),
    ],
)  # fmt: skip
def test_a_comment_that_is_not_understood_is_a_finding(line: str, why: str) -> None:
    found = one(f"\n{line}\n")
    assert isinstance(found, Unreadable)
    assert found.line == 2
    assert why in found.why


def test_nothing_inside_code_is_read_and_what_follows_it_is() -> None:
    text = (
        "```\n3x <!-- ab: speedup a@1 -->\n```\n~~~~ md\n```\n3x <!-- ab: speedup a@1 -->\n~~~~\n"
        "as in `3x <!-- ab: speedup a@1 -->`, but 4x <!-- ab: speedup a@2 -->\n"
    )
    assert one(text) == Figure(8, None, "speedup", "a@2", "4", "x")


def test_a_document_names_its_run_for_what_follows() -> None:
    text = "1x <!-- ab: speedup a@1 -->\n<!-- ab: run demo-%2D1 -->\n2x <!-- ab: speedup a@2 -->\n"
    assert [one.run for one in quotes(text) if isinstance(one, Figure)] == [None, "demo--1"]


def test_a_table_is_read_with_its_lines() -> None:
    text = "a\n<!-- ab: table r -->\n| a | b |\n| --- | --- |\n| 1 | 2 \\| 3 |\n\n| no | more |\n"
    assert one(text) == Table(2, "r", ((3, ("a", "b")), (5, ("1", "2 \\| 3"))))

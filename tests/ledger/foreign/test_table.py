"""A table of foreign wall times: taken whole, or refused with its line."""

import pytest

from abtest.errors import UsageError
from abtest.ledger.foreign import read, records
from abtest.model.trial import Pair

HEADER = "arm,depth,round,order_in_round,t8_s,t64_s"
GOOD = f"{HEADER}\na,512,1,1,0.5,1.5\nb,512,1,2,0.5,1.4\n"


def test_a_row_becomes_a_record_that_proves_nothing() -> None:
    first, second = records(read(GOOD, "x.csv"), "run", "digest")
    assert (first.arm, first.depth, first.batch, first.round, first.slot) == ("a", 512, 1, 1, 1)
    assert (first.isolation, first.flags, first.identity) == ("imported", ("imported",), ())
    assert (first.tokens, first.pairs) == ((8, 64), (Pair(0.5, 1.5, "short"),))
    assert first.spec_sha256 == "digest"
    assert first.trial != second.trial


def test_rows_are_put_into_the_order_in_which_they_ran() -> None:
    """A file that is sorted by arm would else tell a wrong story about drift."""
    text = f"{HEADER}\na,512,1,1,1,2\na,512,2,2,1,2\na,64,1,1,1,2\nb,512,1,2,1,2\nb,512,2,1,1,2\n"
    found = read(text, "x.csv")
    assert [(row.round, str(row.cell)) for row in found.rows] == [
        (1, "a@512"), (1, "b@512"), (1, "a@64"), (2, "b@512"), (2, "a@512"),
    ]  # fmt: skip
    assert found.arms == ("a", "b")


def test_a_batch_and_a_mark_at_the_beginning_are_read() -> None:
    text = f"\ufeff{HEADER},batch\r\n\r\na,512,1,1,0.5,1.5,4\r\nb,512,1,2,0.5,1.5,\r\n"
    assert [str(row.cell) for row in read(text, "x.csv").rows] == ["a@512x4", "b@512"]


def test_a_difference_below_zero_is_kept_for_the_analysis_to_judge() -> None:
    """Leaving such rounds out would choose rounds by their value."""
    assert len(read(f"{HEADER}\na,512,1,1,2.0,1.5\n", "x.csv").rows) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "x.csv holds no row"),
        (f"{HEADER}\n", "x.csv holds no row"),
        ("arm,depth\na,1\n", "line 1: columns missing: 'round', 'order_in_round', 't8_s', 't64_s'"),
        (f"{HEADER},colour\n", "line 1: columns not known: 'colour'"),
        (f"{HEADER},arm\n", "line 1: columns given twice: 'arm'"),
        (f"{GOOD}a,512,2,1,nan,1.5\n", "line 4: t8_s is nan, not a time"),
        (f"{GOOD}a,512,2,1,0.5,inf\n", "line 4: t64_s is inf, not a time"),
        (f"{GOOD}a,512,2,1,-0.5,1.5\n", "line 4: t8_s is -0.5, not a time"),
        (f"{GOOD}a,512,2,1,0,1.5\n", "line 4: t8_s is 0.0, not a time"),
        (f"{GOOD}a,512,2,1,1e-320,1.5\n", "line 4: t8_s is 1e-320, not a time"),
        (f"{GOOD}a,512,2,1,0.5,1e200\n", "line 4: t64_s is 1e+200, not a time"),
        (f"{GOOD}a,512,2,1,fast,1.5\n", "line 4: t8_s is 'fast', not a number"),
        (f"{GOOD}a,512,2,1,,1.5\n", "line 4: t8_s is '', not a number"),
        (f"{GOOD}a,512,1,3,0.5,1.5\n", "line 4: a@512 in round 1 stands in line 2 already"),
        (f"{GOOD}c,512,1,2,0.5,1.5\n", "line 4: place 2 of round 1 at 512 is taken by line 3"),
        (f"{GOOD}hello\n", "line 4: 1 values for 6 columns"),
        (f"{GOOD}a,512,2,1,0.5,1.5,9\n", "line 4: 7 values for 6 columns"),
        (f'{GOOD}a,512,2,1,0.5,"1.5\n', "line 4: not a table"),
        (f"{GOOD}a,512.0,2,1,0.5,1.5\n", "line 4: depth is '512.0', not a whole number from 0"),
        (f"{GOOD}a,512,0,1,0.5,1.5\n", "line 4: round is '0', not a whole number from 1"),
        (f"{GOOD}a,512,2,-1,0.5,1.5\n", "line 4: order_in_round is '-1'"),
        (f"{GOOD}A b,512,2,1,0.5,1.5\n", "line 4: 'A b' cannot name an arm"),
    ],
)
def test_what_cannot_be_taken_as_it_is_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text, "x.csv")
    assert words in caught.value.what
    assert caught.value.remedy


def test_a_table_has_its_own_column_for_arms() -> None:
    with pytest.raises(UsageError, match="its arms are in the column"):
        read(GOOD, "x.csv", arm_by="build_commit")

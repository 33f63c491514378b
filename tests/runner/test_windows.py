"""Where decode begins: at the first token's stamp, else as the pairs' rate tells, else unknown."""

from typing import Any

import pytest

from abtest.runner.evidence import read_report

PAIRS = [{"t_short_s": 1.08, "t_long_s": 1.64, "first": "short"}]  # 10 ms per token, 1 s of prefill


def window(stamp: float | None, pairs: list[dict[str, Any]]) -> Any:
    entry = {"kind": "pair", "start_s": 50.0, "end_s": 51.64, "first_token_s": stamp, "tokens": 64}
    report = {"error": None, "tokens": [8, 64], "pairs": pairs, "windows": [entry]}
    return read_report(report).windows[0]


def test_c28_a_stamp_is_taken_as_it_is() -> None:
    found = window(51.01, PAIRS)
    assert (found.decode_s, found.estimated) == (51.01, False)


@pytest.mark.parametrize("stamp", [None, 1.0, 99.0])
def test_c28_without_a_stamp_of_this_clock_the_pairs_tell(stamp: float | None) -> None:
    found = window(stamp, PAIRS)
    assert found.decode_s == pytest.approx(51.0)
    assert found.estimated


def test_c28_without_either_nothing_is_claimed() -> None:
    assert window(None, []).decode_s is None
    drowned = [{"t_short_s": 2.0, "t_long_s": 1.0, "first": "short"}]
    assert window(None, drowned).decode_s is None


def test_a_report_of_an_older_probe_has_no_windows() -> None:
    assert read_report({"error": None}).windows == ()

"""Figures that no clock can have read: named with their line, never in a number, never an internal error."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from abtest.cli.main import main
from abtest.model.trial import Pair, TrialRecord
from tests.cli.test_bad_ledgers import named, rounds, run_folder, summary

Change = Callable[[TrialRecord], TrialRecord]


def every_pair(short_s: float, long_s: float) -> Change:
    return lambda one: replace(one, pairs=(Pair(short_s, long_s, "short"),) * 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (every_pair(-9.0, -5.0), "Expected `float` >= 0.0 - at `$.pairs[0].t_short_s`"),
        (every_pair(0.5, 1e300), "Expected `float` <= 1000000000.0 - at `$.pairs[0].t_long_s`"),
        (
            lambda one: replace(one, tokens=(64, 64)),
            "its long token count is not above the short one",
        ),
        (
            lambda one: replace(one, tokens=(64, 8)),
            "its long token count is not above the short one",
        ),
        (lambda one: replace(one, tokens=(-8, 64)), "Expected `int` >= 0 - at `$.tokens[0]`"),
    ],
    ids=["negative times", "endless time", "equal tokens", "swapped tokens", "negative tokens"],
)
def test_an_impossible_figure_is_named_with_its_line_and_does_not_count(
    change: Change, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path, [*rounds(4), *map(change, rounds(5)[8:])])
    code, body, err = summary(folder, capsys)
    assert code == 0
    assert body["dropped"] == {"unreadable lines": 2}
    assert f"line 9: {words}" in err.replace("not a record of kind trial: ", "")
    assert main(["verify", folder]) == 1
    assert words in capsys.readouterr().out


@pytest.mark.parametrize("long_s", [5e-324, 1e-310, 1e-10])
def test_a_difference_below_what_a_clock_can_tell_is_no_rate(
    long_s: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [every_pair(0.0, long_s)(one) for one in rounds(4)]
    code, body, err = summary(run_folder(tmp_path, found), capsys)
    assert (code, body["effects"][0]["speedup"]) == (5, None)
    assert all("drowned" in named(one["flags"]) for one in body["cells"])
    assert "nothing could be compared" in err


def test_pairs_that_cancel_out_have_no_error_and_no_ratio(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their median is above zero, and their mean is not."""
    pairs = tuple(Pair(4.0, 4.0 + one, "short") for one in (-3.0, 1.0, 1.0, 1.0, 0.0))
    found = [replace(one, pairs=pairs) for one in rounds(4)]
    code, body, _ = summary(run_folder(tmp_path, found), capsys)
    assert (code, body["effects"][0]["speedup"]) == (5, None)
    assert body["cells"][0]["within_se_pct"] is None


def test_one_arm_alone_is_not_blamed_for_a_change_that_never_arrived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one_arm = [one for one in rounds(4) if one.arm == "fast"]
    _, body, _ = summary(run_folder(tmp_path, one_arm), capsys)
    assert "declared-not-observed" not in named(body["flags"])
    same = [replace(one, identity=rounds(1)[0].identity) for one in rounds(4)]
    _, body, _ = summary(run_folder(tmp_path, same), capsys)
    assert "declared-not-observed" in named(body["flags"])

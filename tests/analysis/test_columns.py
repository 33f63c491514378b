"""Many trials at once say what each says alone, to the last digit; what is out of the ordinary is left to `estimate`."""

import math
import random
from collections.abc import Sequence

import pytest

from abtest.analysis import columns
from abtest.analysis.columns import Columns, Estimates, of_rows, together
from abtest.analysis.counting import count
from abtest.analysis.differential import estimate
from abtest.model.names import Cell, Condition
from abtest.model.trial import Pair, Status, TrialRecord

ARMS = ("stock", "new")


def trial(
    number: int, times_s: Sequence[tuple[float, float]], stamps: Sequence[float]
) -> TrialRecord:
    return TrialRecord(
        run="r", trial=f"t{number}", spec_sha256="s", arm=ARMS[number % 2], depth=512 * (number % 6 // 2), batch=1,
        round=number, slot=1, order=number, discarded=False, status=Status.OK, started_at="", isolation="docker",
        tokens=(8, 64 + number % 3), pairs=tuple(Pair(short, long, "short") for short, long in times_s),
        token_s_per_token=tuple(stamps),
    )  # fmt: skip


def trials(pairs: int, stamps: int, seed: int, size: int = 1200) -> list[TrialRecord]:
    rng = random.Random(seed)
    return [
        trial(
            number,
            [(rng.expovariate(2), 20 + rng.expovariate(0.1)) for _ in range(pairs)],
            [rng.expovariate(50) + 1e-6 for _ in range(stamps)],
        )
        for number in range(size)
    ]


def seen(records: Sequence[TrialRecord]) -> dict[Cell, str]:
    found = Estimates(counted := count(records, ARMS))
    return {cell: repr(found.of(cell)._asdict()) for cell in counted.by_cell}


def alone(records: Sequence[TrialRecord]) -> dict[Cell, str]:
    by_cell = count(records, ARMS).by_cell
    return {
        cell: repr(of_rows([estimate(one) for one in own])._asdict())
        for cell, own in by_cell.items()
    }


@pytest.mark.parametrize("pairs", [1, 2, 3, 4, 5, 6, 7, 12])
@pytest.mark.parametrize("stamps", [0, 1, 4, 5])
def test_many_trials_together_say_what_each_says_alone(pairs: int, stamps: int) -> None:
    records = trials(pairs, stamps, seed=pairs * 100 + stamps)
    assert together(records) is not None
    assert seen(records) == alone(records)


def test_every_estimate_of_a_trial_but_its_leverage_is_a_column() -> None:
    names = set(estimate(trial(1, [(1, 2)], []))._fields)
    assert names - set(Columns._fields) == {"leverage"}
    assert set(Columns._fields) <= names


ODD = {
    "no pairs": trial(7, [], [0.1] * 5),
    "a pair less": trial(7, [(1, 2)] * 4, [0.1] * 5),
    "no stamps": trial(7, [(1, 2)] * 5, []),
    "a negative difference": trial(7, [(2, 1)] * 5, [0.1] * 5),
    "a negative mean": trial(7, [(1, 2)] * 3 + [(900, 1)] * 2, [0.1] * 5),
    "no difference": trial(7, [(1, 1)] * 5, [0.1] * 5),
    "a difference that no clock tells": trial(7, [(1, 1 + 1e-12)] * 5, [0.1] * 5),
    "no number": trial(7, [(1, math.nan)] * 5, [0.1] * 5),
    "one that is no number": trial(7, [(1, 2)] * 4 + [(1, math.nan)], [0.1] * 5),
    "infinite": trial(7, [(1, math.inf)] * 5, [0.1] * 5),
    "a stamp of no time": trial(7, [(1, 2)] * 5, [0.0] * 5),
    "stamps that are no number": trial(7, [(1, 2)] * 5, [math.nan] * 5),
}


@pytest.mark.parametrize("name", ODD)
def test_one_odd_trial_changes_nothing_for_it_or_the_others(name: str) -> None:
    records = [*trials(5, 5, seed=4), ODD[name]]
    records[6], records[-1] = (
        records[-1],
        records[6],
    )  # round 7 of another trial would be its double
    records = [one for one in records if one.trial != "t7" or one is ODD[name]]
    assert together(records) is None
    assert seen(records) == alone(records)


def test_equal_differences_leave_no_scatter_and_stay_together() -> None:
    records = [trial(number, [(1.0, 2.0)] * 5, [0.1] * 5) for number in range(2000)]
    assert together(records) is not None
    assert seen(records) == alone(records)


def test_many_trials_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "estimate", lambda _record: pytest.fail("one by one"))
    assert seen(trials(5, 5, seed=1, size=columns.TOGETHER_FROM))


def test_few_trials_are_never_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "together", lambda _records: pytest.fail("they were"))
    assert seen(few := trials(5, 5, seed=1, size=columns.TOGETHER_FROM - 1)) == alone(few)


def test_a_cell_without_trials_has_empty_columns() -> None:
    nothing = Cell("stock", Condition(77))
    for size in (10, 2000):
        found = Estimates(count(trials(5, 0, seed=1, size=size), ARMS)).of(nothing)
        assert all(len(column) == 0 for column in found)


def test_trials_without_a_rate_can_be_left_out() -> None:
    rows = of_rows([estimate(trial(1, [(2, 1)], [])), estimate(trial(2, [(1, 2)], []))])
    assert rows.only([one is not None for one in rows.rate_tok_s]) == of_rows(
        [estimate(trial(2, [(1, 2)], []))]
    )

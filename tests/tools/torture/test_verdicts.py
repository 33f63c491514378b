"""The judge itself: each planted wrong is seen, and a sound run passes."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from abtest.cli.main import main
from abtest.ledger import codec, store
from tools.torture import files, traces, verdicts
from tools.torture.lab import Lab, Said, lab


def started(one: Lab, *more: str) -> int:
    return main(one.arguments(*more))


@pytest.fixture
def one(tmp_path: Path):  # type: ignore[no-untyped-def]  # noqa: ANN201 - a generator of a Lab
    """A lab with one finished simulated run."""
    with lab("simulated") as made:
        assert started(made, "--rounds", "2") in {0, 5}
        yield made


def run_of(one: Lab) -> Path:
    assert one.run is not None
    return one.run


def rewrite(one: Lab, *lines: str) -> None:
    (run_of(one) / store.LEDGER).write_text("".join(lines), encoding="utf-8")


def test_a_sound_run_passes_and_leaves_nothing(one: Lab) -> None:
    assert list(verdicts.whole(run_of(one))) == []
    assert traces.temporary(one) == []
    assert traces.unfinished(one) == []
    assert verdicts.forbidden(one, run_of(one)) is None


def test_a_lost_and_a_double_block_are_seen(one: Lab) -> None:
    records = store.read(run_of(one)).records
    lines = [codec.encode(record) for record in records]
    rewrite(one, *lines[:-1])
    assert any(text.startswith("lost: round 2") for text in verdicts.whole(run_of(one)))
    rewrite(one, *lines, codec.encode(replace(records[-1], trial="again")))
    assert any(text.startswith("2 times: round 2") for text in verdicts.whole(run_of(one)))


def test_other_digits_are_seen(one: Lab) -> None:
    usual = one.summary(run_of(one))
    assert usual is not None
    assert list(verdicts.same(usual, usual)) == []
    assert list(verdicts.same({**usual, "cells": []}, usual)) != []
    assert list(verdicts.same(None, usual)) != []


def test_remains_are_seen(one: Lab) -> None:
    (run_of(one) / ".session.json.7").touch()
    (one.results / "torture-dead").mkdir()
    assert traces.temporary(one) != []
    assert traces.unfinished(one) == ["torture-dead"]


@pytest.mark.parametrize(
    "said",
    [
        Said(1, "", "error: x\n  next: y"),
        Said(4, "", "error: space\n"),
        Said(4, "", "error: something else\n  next: y"),
        Said(0, "", "Traceback (most recent call last)"),
    ],
)
def test_a_wrong_end_is_seen(said: Said) -> None:
    assert list(verdicts.ended(said, {4: "space"})) != []


def test_a_right_end_passes() -> None:
    assert list(verdicts.ended(Said(4, "", "error: no space\n  next: y"), {4: "space"})) == []


def test_a_run_that_went_on_or_wrote_in_spite_of_a_change_is_seen(one: Lab) -> None:
    run = run_of(one)
    path = one.folder / "fast.py"
    path.write_text(path.read_text() + "# edited\n")
    word = verdicts.forbidden(one, run)
    assert word == "arm fast: file"
    before = (run / store.LEDGER).read_bytes()
    refusal = Said(3, "", f"error: {word}\n  next: y")
    assert list(verdicts.refused(refusal, word, before, run)) == []
    assert list(verdicts.refused(Said(0, "", ""), word, before, run)) != []
    assert list(verdicts.refused(refusal, word, b"", run)) != []


def test_each_harm_to_the_ledger_changes_it(one: Lab) -> None:
    path = run_of(one) / store.LEDGER
    sound = path.read_bytes()
    for harm in (files.truncate, files.scribble):
        harm(one, random.Random(1))
        assert path.read_bytes() != sound
        path.write_bytes(sound)

"""The audit of a run's folder: a sound one passes, and each planted fault is found and named."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from abtest.analysis.proof import is_proved
from abtest.errors import LedgerError, UsageError
from abtest.ledger import codec, store
from abtest.ledger.audit import audit
from abtest.model.trial import Status, TrialRecord
from tests.report import test_summary as simulated


def with_sidecar(folder: Path, one: TrialRecord) -> TrialRecord:
    """The record, with the probe's report beside it as a real run has it."""
    place = folder / "trials" / one.trial
    place.mkdir(parents=True)
    pairs = [{"t_short_s": p.t_short_s, "t_long_s": p.t_long_s, "first": p.first} for p in one.pairs]  # fmt: skip
    report = json.dumps({"pairs": pairs}).encode()
    (place / "trial.json").write_bytes(report)
    environment = json.dumps(dict(one.environment), sort_keys=True).encode()
    return replace(
        one,
        files={"trial.json": hashlib.sha256(report).hexdigest()},
        environment_sha256=hashlib.sha256(environment).hexdigest(),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound run of four rounds."""
    found = [with_sidecar(tmp_path, one) for one in simulated.records()]
    arms = {arm: {"files": [{"target": "pkg/k.py", "sha256": arm}]} for arm in ("stock", "fast")}
    store.write_json(tmp_path / store.RUN, {"run": "demo-1", "spec_sha256": "s", "arms": arms})
    write(tmp_path, found)
    return tmp_path


def write(folder: Path, found: list[TrialRecord]) -> None:
    (folder / store.LEDGER).write_text("".join(map(codec.encode, found)), encoding="utf-8")


def records(folder: Path) -> list[TrialRecord]:
    return list(store.read(folder).records)


def spoilt(folder: Path, spoil: Callable[[TrialRecord], TrialRecord]) -> tuple[str, ...]:
    """Change the last record, and audit."""
    found = records(folder)
    write(folder, [*found[:-1], spoil(found[-1])])
    return audit(folder, is_proved)


def test_a_sound_run_passes(folder: Path) -> None:
    assert audit(folder, is_proved) == ()


CASES: dict[str, tuple[Callable[[TrialRecord], TrialRecord], str]] = {
    "another run": (lambda one: replace(one, run="x"), "is of run x"),
    "another set-up": (lambda one: replace(one, spec_sha256="t"), "another specification"),
    "an edited pair": (
        lambda one: replace(one, pairs=(replace(one.pairs[0], t_long_s=9.0),)),
        "the pairs in the ledger are not those",
    ),
    "no identity": (lambda one: replace(one, identity=()), "not every rank showed the code"),
    "a rank less": (lambda one: replace(one, identity=one.identity[:2]), "not every rank showed"),
    "another arm's file": (
        lambda one: replace(one, identity=tuple(replace(r, sha256="stock") for r in one.identity)),
        "no rank ran pkg/k.py as arm fast has it",
    ),
    "an edited environment": (
        lambda one: replace(one, environment={**one.environment, "x": "y"}),
        "the environment is not the one",
    ),
    "a failed trial": (
        lambda one: replace(one, status=Status.FAILED),
        "block 512 round 4: no counted trial of",
    ),
    "a path for a name": (lambda one: replace(one, files={"../run.json": "0"}), "is no name"),
    "a file that is not there": (lambda one: replace(one, files={"engine.log": "0"}), "engine.log is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_planted_fault_is_found(folder: Path, name: str) -> None:
    spoil, said = CASES[name]
    found = spoilt(folder, spoil)
    assert len(found) == 1, found
    assert said in found[0]


def test_an_alien_line_and_a_torn_tail_are_named(folder: Path) -> None:
    with (folder / store.LEDGER).open("a", encoding="utf-8") as file:
        file.write('{"kind":"trial","schema":99}\n{"kind":"tri')
    alien, torn = audit(folder, is_proved)
    assert "line 9: schema 99 is not known" in alien
    assert "the last line is torn" in torn


def test_a_trial_that_counts_twice_is_named(folder: Path) -> None:
    found = records(folder)
    write(folder, [*found, found[-1]])
    double, twice = audit(folder, is_proved)
    assert "2 records bear this name" in double
    assert "counted twice" in twice


def test_a_superseded_trial_leaves_no_fault_and_one_that_never_was_does(folder: Path) -> None:
    line = codec.encode_superseded("never", "r", "t")
    with (folder / store.LEDGER).open("a", encoding="utf-8") as file:
        file.write(line)
    assert audit(folder, is_proved) == ("trial never: marked superseded, and there is no record of it",)  # fmt: skip


def test_an_edited_sidecar_and_a_link_in_its_place_are_found(folder: Path) -> None:
    first, second, *_ = records(folder)
    (folder / "trials" / first.trial / "trial.json").write_text("{}")
    path = folder / "trials" / second.trial / "trial.json"
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")
    assert [text.partition(": ")[2] for text in audit(folder, is_proved)] == [
        "trial.json is not the file that was recorded", "trial.json is missing",
    ]  # fmt: skip


def test_a_simulated_run_needs_no_proof(folder: Path) -> None:
    write(folder, [replace(one, isolation="simulated", identity=()) for one in records(folder)])
    assert audit(folder, is_proved) == ()


@pytest.mark.parametrize(("body", "error"), [(None, UsageError), ("[", LedgerError)])
def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, body: str | None, error: Any) -> None:
    if body is not None:
        (tmp_path / store.RUN).write_text(body)
    with pytest.raises(error):
        audit(tmp_path, is_proved)

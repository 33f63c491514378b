"""The benchmark of summaries does what it says, on a ledger small enough for a test."""

import re
from pathlib import Path

import pytest

from abtest.ledger import codec, store
from tools import ledgers, scale


def test_the_ledgers_of_the_benchmark_are_sound_and_of_the_size_that_is_claimed(
    tmp_path: Path,
) -> None:
    run = ledgers.write(tmp_path / "run", 300, 3)
    contents = store.read(run, brief=True)
    assert len(contents.standing) == 300
    assert 3000 < ledgers.size_of(run) / 300 < 7000


def test_the_cost_of_checksums_is_measured_with_them_and_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ledgers.write(tmp_path / "run", 300, 3)
    seen: list[bool] = []
    holds = codec.holds

    def counted(line: bytes) -> bool | None:
        seen.append(True)
        return holds(line)

    monkeypatch.setattr(codec, "holds", counted)
    scale.bench_checksum(run, 300)
    assert len(seen) == scale.TURNS * 300
    assert re.search(r"reading 300 records with checksums / without", capsys.readouterr().out)

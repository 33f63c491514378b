"""The measurement of checksums goes on working when the reader changes; its figures are for `make bench`."""

from pathlib import Path

import pytest

from abtest.ledger import codec
from tools import ledgers
from tools.scale import bench_checksum


def test_reading_with_and_without_checksums_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    holds = codec.holds
    bench_checksum(ledgers.write(tmp_path / "run", 200, 10), 200)
    said = capsys.readouterr().out
    assert "reading 200 records with checksums / without" in said
    assert said.rstrip().endswith("x")
    assert codec.holds is holds

"""Fuzzing of foreign results: a run that every reader can read, or a message; nothing half-made is left."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from abtest.cli.main import main
from abtest.ledger import foreign, store
from abtest.ledger.foreign.rows import LONGEST_S, SHORTEST_S
from tests.ledger.foreign.test_llama_bench import OTHER, line
from tests.properties.test_ledger import json_values

TABLE = (Path(__file__).resolve().parent.parent / "golden" / "published.csv").read_bytes()
ROWS = [row.split(",") for row in TABLE.decode().splitlines()]
LINES = [line(), line(**OTHER), line(n_depth=4096), line(n_depth=4096, **OTHER), line(n_gen=0)]
BENCH = "".join(LINES).encode()
READERS = [["summary"], ["summary", "--format", "json"], ["verify"], ["export", "--pr"], ["status"]]

alien_cells = st.one_of(
    st.text(max_size=12),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        ["", '"', '"a\nb"', "1e-320", "1e308", "1_0", "٣", "nan", "-0", "0x10", "999999999", "=1"]
    ),
)
alien_values = json_values | st.sampled_from(
    ["\ud800", 1e308, 5e-324, [1], [1e300], [10**400], [1, "1"], [True], 10**18, -1, "../x", "nan"]
)
options = st.sampled_from([[], ["--arm-by", "n_batch"], ["--baseline", "stock"], ["--arm-by", ""]])


def take(raw: bytes, capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    """Import some bytes and read what came of them with one of each reader."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        file, out = root / "foreign.txt", root / "results" / "taken"
        file.write_bytes(raw)
        code = main(["import", str(file), "--out", str(out), *more])
        said = capsys.readouterr()
        assert code in {0, 2}, said.err
        if code:
            assert "error: " in said.err
            assert "\n  next: " in said.err
            assert [path.name for path in root.rglob("*") if path != file] == []
            return
        contents = store.read(out)
        assert contents.records
        assert contents.faults == contents.altered == ()
        assert contents.torn is None
        for reader in READERS:
            code = main([reader[0], str(out), *reader[1:], "--results", str(out.parent)])
            said = capsys.readouterr()
            assert code in {0, 2, 3, 5}, (reader, said.err)


fuzz = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@fuzz
@given(
    sound=st.sampled_from([TABLE, BENCH]),
    place=st.integers(0, max(len(TABLE), len(BENCH))),
    over=st.integers(0, 60),
    new=st.binary(max_size=20) | st.text(max_size=20).map(str.encode),
    more=options,
)
def test_bytes_put_anywhere_into_foreign_results_are_taken_or_refused(
    sound: bytes,
    place: int,
    over: int,
    new: bytes,
    more: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    take(sound[:place] + new + sound[place + over :], capsys, more)


@fuzz
@given(st.data())
def test_any_cells_of_a_table_are_taken_or_refused(
    capsys: pytest.CaptureFixture[str], data: st.DataObject
) -> None:
    rows = [list(row) for row in ROWS]
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.sampled_from(rows))
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(alien_cells)
    take("\n".join(map(",".join, rows)).encode(), capsys, data.draw(options))


@fuzz
@given(st.data())
def test_any_values_of_llama_bench_are_taken_or_refused(
    capsys: pytest.CaptureFixture[str], data: st.DataObject
) -> None:
    bodies = [json.loads(one) for one in LINES]
    for body in data.draw(st.lists(st.sampled_from(bodies), min_size=1, max_size=3)):
        key = data.draw(st.sampled_from(sorted(body)) | st.sampled_from(["n_gen", "samples_ns"]))
        body[key] = data.draw(alien_values)
    text = "\n".join(map(json.dumps, bodies))
    take(text.encode(), capsys, data.draw(options))


times = st.floats(SHORTEST_S, LONGEST_S)
measured: st.SearchStrategy[Any] = st.lists(st.tuples(times, times), min_size=1, max_size=8)


@given(measured, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]))
@example(found=[(0.1, 0.2)], end="\n", mark="\ufeff")
def test_the_times_of_a_table_come_back_as_they_were_written(
    found: list[tuple[float, float]], end: str, mark: str
) -> None:
    """To the last digit, whatever the line ends, and in the order of rounds."""
    lines = ["arm,depth,round,order_in_round,t8_s,t64_s"]
    lines += [f"stock,512,{number},1,{a!r},{b!r}" for number, (a, b) in enumerate(found, start=1)]
    taken = foreign.read(mark + end.join([*lines, ""]), "table.csv")
    records = foreign.records(taken, "run", "digest")
    assert [(one.pairs[0].t_short_s, one.pairs[0].t_long_s) for one in records] == found
    assert [one.round for one in records] == list(range(1, len(found) + 1))

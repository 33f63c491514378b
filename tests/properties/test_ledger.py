"""Properties of the ledger: what is written comes back, and no byte of it can change unnoticed."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abtest.cli.main import main
from abtest.ledger import codec, store
from abtest.model.trial import (
    ContainerFacts,
    Kernel,
    Outputs,
    Pair,
    RankIdentity,
    RouteCount,
    Status,
    TrialRecord,
)

text = st.text(max_size=12)
number = st.integers(-(2**53), 2**53)
huge = st.sampled_from([10**400, -(10**25), 2**63])
real = st.floats(allow_nan=False, allow_infinity=False)
scalar = st.one_of(text, number, real, st.booleans(), st.none())
flat: st.SearchStrategy[Mapping[str, Any]] = st.dictionaries(text, scalar, max_size=3)
words = st.dictionaries(text, text, max_size=3)


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=3).map(tuple)


small = st.integers(0, 2**31)
seconds = st.floats(0, 1e9)
pair = st.builds(Pair, seconds, seconds, st.sampled_from(["short", "long"]))
identity = st.builds(RankIdentity, small, small, copies=some(text), triton=st.none() | words)
records = st.builds(
    TrialRecord,
    status=st.sampled_from(Status),
    tokens=st.tuples(st.integers(0, 1000), st.integers(1, 1000)).map(
        lambda two: (two[0], sum(two))
    ),
    depth=number,
    batch=number,
    round=number,
    slot=number,
    order=number,
    reason=st.none() | text,
    flags=some(text),
    phases_s=st.dictionaries(text, real, max_size=3),
    pairs=some(pair),
    warmup=st.none() | pair,
    token_s_per_token=some(real),
    outputs=st.none() | st.builds(Outputs, text, st.none() | number),
    prompt_sha256=st.none() | text,
    identity=some(identity),
    routes=some(st.builds(RouteCount, number, text, flat, number)),
    kernels=some(st.builds(Kernel, number, text, real, real)),
    engine_log=some(flat),
    container=st.none() | st.builds(ContainerFacts),
    environment=words,
    telemetry=st.none(),
    files=words,
)


@given(records)
def test_a_record_comes_back_as_it_was_written(record: TrialRecord) -> None:
    line = codec.encode(record)
    assert line.count("\n") == 1
    assert codec.decode(line) == record
    assert codec.holds(line.encode())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=records, data=st.data())
def test_no_byte_of_the_ledger_can_change_unnoticed(
    record: TrialRecord, data: st.DataObject, tmp_path: Path
) -> None:
    """Whatever one byte becomes: a fault, an altered line or a torn one; the line before it is read as it was."""
    first, second = (codec.encode(replace(record, trial=name)).encode() for name in ("a", "b"))
    place = data.draw(st.integers(0, len(second) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda value: value != second[place]))
    spoilt = bytearray(second)
    spoilt[place] = other
    (tmp_path / store.LEDGER).write_bytes(first + spoilt)
    contents = store.read(tmp_path)
    assert contents.faults or contents.altered or contents.torn
    assert contents.records[0] == replace(record, trial="a")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=records, cut=st.integers(0, 10_000))
def test_a_ledger_that_is_cut_anywhere_loses_nothing_before_the_cut(
    record: TrialRecord, cut: int, tmp_path: Path
) -> None:
    lines = [codec.encode(replace(record, trial=str(n))).encode() for n in range(3)]
    raw = b"".join(lines)
    cut = min(cut, len(raw))
    (tmp_path / store.LEDGER).write_bytes(raw[:cut])
    contents = store.read(tmp_path)
    ends = [sum(map(len, lines[: n + 1])) for n in range(3)]
    assert [one.trial for one in contents.records] == [str(n) for n in range(3) if ends[n] <= cut]
    assert (contents.torn is not None) == (cut not in {0, *ends})
    assert not contents.faults


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small simulated run, whose ledger the fuzzer spoils."""
    root = tmp_path_factory.mktemp("fuzz")
    reference = Path(__file__).resolve().parents[2] / "arms" / "reference"
    choice = ["--simulate", "--depths", "512", "--rounds", "2", "--results", str(root)]
    assert main(["run", str(reference), *choice]) in {0, 5}
    return (root / "latest").resolve()


json_values = st.recursive(
    scalar | huge,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_record_with_any_values_is_read_or_refused_with_a_message(
    data: st.DataObject, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines of our own form with foreign values: a table, or a message with an exit code; never a bug of ours."""
    path = run / store.LEDGER
    sound = path.read_bytes()
    bodies = [json.loads(line) for line in sound.splitlines()]
    for body in data.draw(st.lists(st.sampled_from(bodies), min_size=1, max_size=3)):
        key = data.draw(st.sampled_from(sorted(body)))
        body[key] = data.draw(json_values)
    lines = [json.dumps(body, separators=(",", ":"), ensure_ascii=False) for body in bodies]
    command = data.draw(st.sampled_from(["summary", "verify", "export --pr", "status"])).split()
    try:
        path.write_bytes("\n".join([*lines, ""]).encode("utf-8", "surrogateescape"))
        code = main([command[0], str(run), *command[1:], "--results", str(run.parent)])
    finally:
        path.write_bytes(sound)
    said = capsys.readouterr()
    assert code != 70, said.err


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_run_file_with_any_values_is_read_or_refused_with_a_message(
    data: st.DataObject, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run / store.RUN
    sound = path.read_bytes()
    body = json.loads(sound)
    place = body
    while isinstance(place, dict) and place:
        key = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or data.draw(st.booleans()):
            place[key] = data.draw(json_values)
            break
        place = place[key]
    command = data.draw(st.sampled_from(["summary", "verify", "export --pr", "status"])).split()
    try:
        path.write_bytes(json.dumps(body).encode())
        code = main([command[0], str(run), *command[1:], "--results", str(run.parent)])
    finally:
        path.write_bytes(sound)
    said = capsys.readouterr()
    assert code != 70, said.err


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_spoilt_run_files_are_read_or_refused_with_a_message(
    data: st.DataObject, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes put anywhere into the ledger or into `run.json`."""
    path = run / data.draw(st.sampled_from([store.LEDGER, store.RUN, "session.json"]))
    sound = path.read_bytes()
    place = data.draw(st.integers(0, len(sound)))
    over = data.draw(st.integers(0, 40))
    command = data.draw(st.sampled_from(["summary", "verify", "export --pr", "status"])).split()
    try:
        path.write_bytes(sound[:place] + data.draw(st.binary(max_size=20)) + sound[place + over :])
        code = main([command[0], str(run), *command[1:], "--results", str(run.parent)])
    finally:
        path.write_bytes(sound)
    said = capsys.readouterr()
    assert code != 70, said.err

"""The brief reading: the same records but for what no summary looks at, and the same faults."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from abtest.ledger import codec, store
from abtest.ledger.brief import LEFT_OUT, Reader
from abtest.model.telemetry import Telemetry
from abtest.model.trial import (
    ContainerFacts,
    Outputs,
    Pair,
    RankIdentity,
    RouteCount,
    Status,
    TrialRecord,
)


def record(pid: int = 11) -> TrialRecord:
    return TrialRecord(
        run="demo-1", trial=f"r01-512-s1-{pid}", spec_sha256="aa", arm="stock", depth=512, batch=2, round=1,
        slot=1, order=3, discarded=False, status=Status.VOID, started_at="2026-01-31T00:00:00Z",
        isolation="docker", tokens=(8, 64), reason="throttled", flags=("jit-in-window",),
        pairs=(Pair(0.5, 1.25, "short"),), token_s_per_token=(0.0134,), outputs=Outputs("bb", 7),
        identity=(
            RankIdentity(0, pid, "before", "p.py", "/p.py", "m", "s", "l", "l", True, ("/q.py",)),
            RankIdentity(1, pid + 1, "before", "p.py", "/p.py", "m", "s", "l", "l", False),
        ),
        routes=(RouteCount(0, "decode", {"use_splitkv": False, "n": None}, 12),),
        container=ContainerFacts(f"id{pid}", "img", None, "mm"),
        environment={"python": "3.11"}, files={"trial.json": "dd"}, host="h", caches="cold",
    )  # fmt: skip


def brief_of(line: str) -> Any:
    return Reader().decode(line.encode())


def test_a_brief_record_says_the_same_but_for_what_is_left_out() -> None:
    whole = record()
    brief = brief_of(codec.encode(whole))
    for one in fields(TrialRecord):
        if one.name not in (*LEFT_OUT, "identity", "container", "pairs"):
            assert getattr(brief, one.name) == getattr(whole, one.name), one.name
    assert [(pair.t_short_s, pair.t_long_s) for pair in brief.pairs] == [(0.5, 1.25)]
    for part, sound, own in (
        (brief.identity[0], whole.identity[0], "pid"),
        (brief.container, whole.container, "id"),
    ):
        for one in fields(type(sound)):  # type: ignore[arg-type]  # of a dataclass
            if one.name != own:
                assert getattr(part, one.name) == getattr(sound, one.name), one.name
    assert isinstance(brief.status, Status)
    assert (brief.cell, brief.condition, brief.counts) == (whole.cell, whole.condition, False)
    assert [(entry.pid, entry.match) for entry in brief.identity] == [(0, True), (0, False)]


def test_all_of_the_telemetry_is_read() -> None:
    whole = Telemetry(
        0.2, 5, "stamped", {"decode": {"sm_mhz": 1980.0}}, {"cpu_mhz": None}, ("power cap",),
        foreign=("gpu0: pid 17",), absent=("gpu0.temp_c",), idle_s=0.5, sampler_cpu_pct=1.5,
    )  # fmt: skip
    brief = brief_of(codec.encode(replace(record(), telemetry=whole))).telemetry
    for one in fields(Telemetry):
        assert getattr(brief, one.name) == getattr(whole, one.name), one.name


def test_telemetry_of_another_type_is_refused() -> None:
    line = codec.encode(replace(record(), telemetry=Telemetry(0.2, 5)))
    assert '"samples":5' in line
    with pytest.raises(codec.AlienLineError):
        Reader().decode(line.replace('"samples":5', '"samples":"many"').encode())


def test_a_part_that_changes_within_a_cell_is_each_trials_own() -> None:
    reader = Reader()
    parts = [{"python": "3.11"}, {"python": "3.12"}, {"python": "3.11"}]
    one, two, three = (
        reader.decode(codec.encode(replace(record(pid), environment=part)).encode())
        for pid, part in enumerate(parts)
    )
    assert [found.environment for found in (one, two, three)] == parts  # type: ignore[union-attr]  # they are trials
    assert one.environment is three.environment  # type: ignore[union-attr]  # they are trials
    assert one.identity is two.identity  # type: ignore[union-attr]  # they are trials


def test_records_that_say_the_same_share_it() -> None:
    reader = Reader()
    first, second = (reader.decode(codec.encode(record(pid)).encode()) for pid in (11, 4711))
    for name in ("identity", "routes", "environment", "container"):
        assert getattr(first, name) is getattr(second, name)


def test_hashes_of_jit_functions_are_shared_too() -> None:
    reader, ranks = Reader(), record().identity
    jit = tuple(replace(one, triton={"kernel": "hash"}) for one in ranks)
    lines = [codec.encode(replace(record(pid), identity=jit)).encode() for pid in (1, 2)]
    first, second = map(reader.decode, lines)
    assert first.identity is second.identity  # type: ignore[union-attr]  # they are trials
    assert first.identity[0].triton == {"kernel": "hash"}  # type: ignore[union-attr]  # they are trials


def test_keys_that_an_older_schema_did_not_have_take_their_defaults() -> None:
    body = json.loads(codec.encode(record()))
    for name in ("token_s_per_token", "telemetry", "routes", "host"):
        del body[name]
    brief = brief_of(json.dumps(body))
    assert (brief.token_s_per_token, brief.telemetry, brief.routes, brief.host) == (
        (),
        None,
        (),
        None,
    )


def changed(change: Callable[[dict[str, object]], object]) -> str:
    body = json.loads(codec.encode(record()))
    change(body)
    return json.dumps(body)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("hello", "not a record"),
        ("[1]", "not a record"),
        ("[" * 100_000, "not a record"),
        ('{"kind":"trial","schema":1}', "not a record of kind trial"),
        ('{"kind":"trial","schema":2}', "schema 2 is not known here"),
        ('{"kind":"gift","schema":1}', "kind 'gift' is not known here"),
        ('{"kind":"note","schema":1}', "not a record of kind note"),
        (changed(lambda body: body.update(pairs=[{"t_short_s": 1}])), "`$.pairs[0]`"),
        (changed(lambda body: body.update(pairs=[[1, 2, "short"]])), "`$.pairs[0]`"),
        (changed(lambda body: body.update(identity=[{"rank": 0}])), "`$.identity[0]`"),
        (changed(lambda body: body.update(depth="deep")), "`$.depth`"),
        (changed(lambda body: body.update(status="fine")), "`$.status`"),
        (changed(lambda body: body.update(token_s_per_token=[float("nan")])), "not a record"),
    ],
)
def test_both_readings_find_the_same_faults(line: str, words: str, tmp_path: Path) -> None:
    good = codec.encode(record())
    (tmp_path / store.LEDGER).write_text(f"{good}{line}\n{good}")
    thorough, brief = (store.read(tmp_path, brief=brief) for brief in (False, True))
    assert thorough.faults == brief.faults
    assert len(brief.faults) == 1
    assert brief.faults[0].startswith("line 2: ")
    assert words in brief.faults[0]
    assert len(thorough.records) == len(brief.records) == 2


def test_other_kinds_and_a_torn_tail_are_read_as_ever(tmp_path: Path) -> None:
    lines = codec.encode_note("hm", "t") + codec.encode_superseded("x", "y", "t") + '{"schema":1'
    (tmp_path / store.LEDGER).write_text(lines)
    assert store.read(tmp_path) == store.read(tmp_path, brief=True)
    assert store.read(tmp_path, brief=True).torn == '{"schema":1'

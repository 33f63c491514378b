"""The ledger: every record survives, every fault is named, one writer at a time."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from abtest.errors import InfrastructureError, LockedError, UsageError
from abtest.ledger import codec, lock, store
from abtest.model.trial import (
    ContainerFacts,
    Outputs,
    Pair,
    RankIdentity,
    RouteCount,
    Status,
    TrialRecord,
)


class StillClock:
    def monotonic_s(self) -> float:
        return 0.0

    def utc(self) -> str:
        return "2026-01-31T00:00:00Z"

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"slept {seconds}")


RECORD = TrialRecord(
    run="demo-1",
    trial="r01-512-s1-stock",
    spec_sha256="aa",
    arm="stock",
    depth=512,
    batch=1,
    round=1,
    slot=1,
    order=3,
    discarded=False,
    status=Status.OK,
    started_at="2026-01-31T00:00:00Z",
    isolation="docker",
    tokens=(8, 64),
    pairs=(Pair(0.5, 1.25, "short"),),
    warmup=Pair(0.6, 1.3, "short"),
    token_s_per_token=(0.0134,),
    outputs=Outputs("bb", None),
    prompt_sha256="cc",
    identity=(
        RankIdentity(0, 11, "before", "p.py", "/p.py", "m", "s", "l", "l", True, ("/q.py",)),
    ),
    routes=(RouteCount(0, "decode", {"use_splitkv": False}, 12),),
    container=ContainerFacts("id", "img", None, "mm"),
    environment={"python": "3.11"},
    files={"trial.json": "dd"},
)


def test_a_record_comes_back_as_it_was() -> None:
    assert codec.decode(codec.encode(RECORD)) == RECORD


def test_all_keys_are_always_present() -> None:
    bare = json.loads(
        codec.encode(replace(RECORD, pairs=(), warmup=None, outputs=None, container=None))
    )
    assert set(bare) == {"schema", "kind", "crc32", *TrialRecord.__dataclass_fields__}
    assert bare["outputs"] is None
    assert bare["telemetry"] is None


def test_records_are_read_back_with_those_that_are_superseded_marked(tmp_path: Path) -> None:
    with store.locked(tmp_path, StillClock()) as ledger:
        ledger.append(RECORD)
        ledger.append(replace(RECORD, trial="second"))
        ledger.supersede(RECORD.trial, "its block is run again")
    contents = store.read(tmp_path)
    assert [record.trial for record in contents.records] == [RECORD.trial, "second"]
    assert [record.trial for record in contents.standing] == ["second"]
    assert contents.faults == ()


def test_a_torn_last_line_is_reported_and_mended_without_losing_a_record(tmp_path: Path) -> None:
    with store.locked(tmp_path, StillClock()) as ledger:
        ledger.append(RECORD)
    line = codec.encode(replace(RECORD, trial="torn"))
    with (tmp_path / store.LEDGER).open("a") as file:
        file.write(line[: len(line) // 2])
    contents = store.read(tmp_path)
    assert contents.torn is not None
    assert len(contents.records) == 1
    with store.locked(tmp_path, StillClock()) as ledger:
        ledger.mend_tail()
        ledger.append(replace(RECORD, trial="third"))
    mended = store.read(tmp_path)
    assert mended.torn is None
    assert mended.faults == ()
    assert [record.trial for record in mended.records] == [RECORD.trial, "third"]
    assert "torn last line" in mended.notes[0]


@pytest.mark.parametrize(
    "alien",
    [
        "hello",
        "[1]",
        '{"kind":"trial"}',
        '{"schema":9,"kind":"trial"}',
        '{"schema":1,"kind":"party"}',
        '{"schema":1,"kind":"trial","trial":"x"}',
        "",
    ],
)
def test_an_alien_line_is_reported_with_its_number_and_costs_no_other_record(
    alien: str, tmp_path: Path
) -> None:
    good = codec.encode(RECORD)
    (tmp_path / store.LEDGER).write_text(
        good + alien + "\n" + codec.encode(replace(RECORD, trial="b"))
    )
    contents = store.read(tmp_path)
    assert len(contents.records) == 2
    assert len(contents.faults) == 1
    assert contents.faults[0].startswith("line 2: ")


def test_bytes_that_are_no_text_are_a_fault_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / store.LEDGER).write_bytes(b"\xff\xfe\n")
    assert store.read(tmp_path).faults[0].startswith("line 1: ")


def test_a_folder_without_a_ledger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        store.read(tmp_path)


def test_two_writers_on_one_folder_are_refused(tmp_path: Path) -> None:
    """The other writer is another process, as in life."""
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import filelock,sys; lock = filelock.FileLock({str(tmp_path / store.LOCK)!r}); lock.acquire(); print('held', flush=True); sys.stdin.read()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    try:
        assert not lock.is_free(tmp_path)
        with pytest.raises(LockedError), store.locked(tmp_path, StillClock()):
            pass
    finally:
        holder.communicate(b"", timeout=10)
    assert lock.is_free(tmp_path)
    assert not lock.is_free(tmp_path / "elsewhere"), (
        "a folder that cannot be seen may be another machine's"
    )


def test_a_full_disk_is_said_and_leaves_what_was_there(tmp_path: Path) -> None:
    with store.locked(tmp_path, StillClock()) as ledger:
        (tmp_path / store.LEDGER).symlink_to("/dev/full")
        with pytest.raises(InfrastructureError, match="cannot be written"):
            ledger.append(RECORD)


def test_each_attempt_at_a_trial_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    ledger = store.Store(tmp_path, StillClock())
    first, second = ledger.open_trial("r01"), ledger.open_trial("r01")
    assert (first[0], second[0]) == ("r01", "r01.2")
    assert all(Path(path).is_dir() and not any(Path(path).iterdir()) for _, path in (first, second))


@pytest.mark.parametrize("name", ["ledger.jsonl", "run.json", "lock", "trials"])
def test_a_link_in_the_run_folder_is_not_written_through(tmp_path: Path, name: str) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    (run / name).symlink_to(elsewhere)
    with pytest.raises(UsageError, match="is a link") as caught, store.locked(run, StillClock()):
        pass
    assert caught.value.exit_code == 2
    assert not elsewhere.exists()


def test_another_users_run_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(UsageError, match="another user"), store.locked(tmp_path, StillClock()):
        pass
    assert not (tmp_path / "lock").exists()


def test_a_results_folder_may_be_a_link(tmp_path: Path) -> None:
    """People keep results on another disk."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with store.locked(tmp_path / "link", StillClock()):
        assert (tmp_path / "real" / "lock").exists()


def test_a_file_that_cannot_be_made_whole_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.write_text(tmp_path / "session.json", "{}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("arm", {}),
        ("depth", "40"),
        ("pairs", [{"t_short_s": 1e999, "t_long_s": 1, "first": "short"}]),
        ("environment", {"python": {}}),
        ("files", {"a": 1}),
        ("tokens", [10**400, 1]),
        ("pairs", [{"t_short_s": 1e200, "t_long_s": 1, "first": "short"}]),
        ("token_s_per_token", [10.0**100]),
        ("kernels", [{}]),
        ("kernels", [{"rank": 0, "name": "a", "calls": 1, "ms_per_step": "fast"}]),
        ("host", "\ud800"),
        ("routes", [{"rank": 0, "phase": "decode", "values": {"a": []}, "count": 1}]),
    ],
)
def test_a_field_of_another_type_is_a_fault(key: str, value: object, tmp_path: Path) -> None:
    body = {**json.loads(codec.encode(RECORD)), key: value}
    (tmp_path / store.LEDGER).write_text(json.dumps(body) + "\n")
    contents = store.read(tmp_path)
    assert contents.records == ()
    assert contents.faults[0].startswith("line 1: ")

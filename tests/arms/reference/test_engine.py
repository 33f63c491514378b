"""The reference engine: the same tokens however it is run, and plain words when a worker fails."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from refengine import Engine, EngineConfig, EngineError, default_prompt
from refengine.config import ModelConfig

SMALL = ModelConfig(layers=4, hidden=64, head_size=16, inner=64)

DEEDS = """
import os
from refengine.ops import paged_attention

def refuse(pid):
    if os.getpid() == pid:
        raise LookupError("planted")
    return "an answer that nobody may take for another"

def leave(pid):
    if os.getpid() == pid:
        os._exit(5)

def spoil(pid, deed):
    def decode(*args):
        if deed == "leave":
            os._exit(7)
        raise LookupError("planted")
    if os.getpid() == pid:
        paged_attention.decode = decode
"""

MIRRORED = """
import json, sys
from refengine import Engine, EngineConfig, default_prompt
from refengine.ops import paged_attention
split = []
if hasattr(paged_attention, "split"):
    real = paged_attention.split
    paged_attention.split = lambda *args: split.append(1) or real(*args)
with Engine(EngineConfig(in_process=True)) as engine:
    ids = engine.generate([default_prompt(int(sys.argv[1]))], 8).token_ids
print(json.dumps({"ids": ids, "split": len(split)}))
"""


@pytest.fixture(autouse=True)
def deeds(tmp_path: Path, reference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spawned workers find the engine, and the faults that are planted in them.

    A spawned process takes over the import path of its parent, whatever PYTHONPATH says.
    """
    (tmp_path / "deeds.py").write_text(DEEDS)
    monkeypatch.setenv("PYTHONPATH", str(reference))
    monkeypatch.syspath_prepend(tmp_path)


def small(**changes: Any) -> Any:
    return EngineConfig(**{"max_context": 256, "model": SMALL, **changes})


def test_ranks_share_the_work_and_agree_on_the_tokens() -> None:
    results = []
    for ranks in (1, 2):
        with Engine(EngineConfig(tensor_parallel=ranks, max_context=1024)) as engine:
            assert len(set(engine.worker_pids())) == ranks
            results.append(engine.generate([default_prompt(600)], 12).token_ids)
    assert results[0] == results[1]
    assert len(set(results[0][0])) > 1  # a constant would agree with anything


def cores_of_two_ranks() -> list[set[int]]:
    with Engine(EngineConfig(tensor_parallel=2, model=SMALL)) as engine:
        return [os.sched_getaffinity(pid) for pid in engine.worker_pids()]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_each_rank_has_cores_of_its_own() -> None:
    """Two ranks on one core work one after the other: what both of them do costs twice its time."""
    first, second = cores_of_two_ranks()
    assert first
    assert second
    assert not first & second
    assert first | second == os.sched_getaffinity(0)


def test_ranks_share_a_core_where_there_is_but_one() -> None:
    mine = os.sched_getaffinity(0)
    one = {min(mine)}
    os.sched_setaffinity(0, one)
    try:
        assert cores_of_two_ranks() == [one, one]
    finally:
        os.sched_setaffinity(0, mine)


@pytest.mark.parametrize("depth", [512, 2048])
def test_the_splitkv_file_gives_the_same_tokens(
    tmp_path: Path, reference: Path, depth: int
) -> None:
    """The file takes the place of the stock one in a copy of the package, as in an experiment."""
    answers = {}
    for arm in ("stock", "splitkv"):
        mirror = tmp_path / arm / "refengine"
        shutil.copytree(
            reference / "refengine", mirror, ignore=shutil.ignore_patterns("__pycache__")
        )
        if arm == "splitkv":
            shutil.copy(reference / "splitkv.py", mirror / "ops" / "paged_attention.py")
        environment = {**os.environ, "PYTHONPATH": str(mirror.parent), "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", MIRRORED, str(depth)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        answers[arm] = json.loads(done.stdout)
    assert answers["stock"]["ids"] == answers["splitkv"]["ids"]
    assert len(answers["stock"]["ids"][0]) == 8
    assert answers["stock"]["split"] == 0
    assert answers["splitkv"]["split"] == 7 * 2 * 2  # steps, full layers, KV heads


def test_an_output_does_not_depend_on_earlier_calls() -> None:
    with Engine(small(in_process=True)) as engine:
        first = engine.generate([default_prompt(40)], 10)
        other = engine.generate([default_prompt(200, index=3)], 20)
        again = engine.generate([default_prompt(40)], 10)
    assert first.token_ids == again.token_ids
    assert other.token_ids[0][:10] != first.token_ids[0]


def test_a_batch_of_two_gives_what_each_prompt_gives_alone() -> None:
    prompts = [default_prompt(50), default_prompt(33, index=1)]
    with Engine(small(in_process=True, max_batch=2)) as engine:
        both = engine.generate(prompts, 6)
        alone = [engine.generate([prompt], 6).token_ids[0] for prompt in prompts]
    assert both.token_ids == alone
    assert both.prompt_tokens == [50, 33]
    assert both.cached_tokens == [0, 0]


@pytest.mark.parametrize("ranks", [1, 2])
def test_every_step_has_a_stamp_and_prompts_are_counted(ranks: int) -> None:
    with Engine(small(tensor_parallel=ranks)) as engine:
        made = engine.generate([default_prompt(77)], 9)
    assert made.prompt_tokens == [77]
    assert len(made.token_times_s) == len(made.token_ids[0]) == 9
    assert made.token_times_s == sorted(made.token_times_s)


@pytest.mark.parametrize(("ignore", "produced"), [(False, 2), (True, 5)])
def test_an_end_token_stops_unless_it_is_ignored(
    monkeypatch: pytest.MonkeyPatch, *, ignore: bool, produced: int
) -> None:
    monkeypatch.setattr("refengine.model.Model.decode", lambda *_args: 0)
    with Engine(small(in_process=True, ignore_eos=ignore)) as engine:
        made = engine.generate([default_prompt(8)], 5)
    assert len(made.token_ids[0]) == produced


@pytest.mark.parametrize(("prompts", "tokens"), [([], 1), ([[1]] * 2, 1), ([[1] * 250], 7)])
def test_prompts_that_do_not_fit_are_refused(prompts: list[list[int]], tokens: int) -> None:
    with Engine(small(in_process=True)) as engine, pytest.raises(ValueError, match="max_"):
        engine.generate(prompts, tokens)


@pytest.mark.parametrize("rank", [0, 1])
def test_after_one_rank_failed_the_next_call_reads_its_own_answers(rank: int) -> None:
    with Engine(small(tensor_parallel=2)) as engine:
        pids = engine.worker_pids()
        with pytest.raises(EngineError, match=rf"(?s)^rank {rank}: .*LookupError: planted"):
            engine.collective_rpc("deeds:refuse", pids[rank])
        assert engine.collective_rpc("os:getpid") == pids
        assert len(engine.generate([default_prompt(9)], 3).token_ids[0]) == 3


def test_a_rank_that_fails_within_a_step_is_named_though_the_other_waits_for_it() -> None:
    with Engine(small(tensor_parallel=2, rpc_timeout_s=2.0)) as engine:
        engine.collective_rpc("deeds:spoil", engine.worker_pids()[1], "raise")
        with pytest.raises(EngineError, match=r"(?s)^rank 1: .*planted.*rank 0 is silent"):
            engine.generate([default_prompt(9)], 3)
        with pytest.raises(EngineError, match="broken"):
            engine.collective_rpc("os:getpid")


def test_a_silent_worker_breaks_the_engine() -> None:
    """Its late answer must not be taken for that of a later call."""
    with Engine(small(rpc_timeout_s=0.5)) as engine:
        with pytest.raises(EngineError, match=r"rank 0 is silent for 0\.5 s"):
            engine.collective_rpc("time:sleep", 30)
        with pytest.raises(EngineError, match=r"broken .*silent"):
            engine.generate([default_prompt(9)], 3)


def test_a_worker_that_leaves_is_named_and_breaks_the_engine() -> None:
    with Engine(small(tensor_parallel=2)) as engine:
        with pytest.raises(EngineError, match=r"rank 1 died \(exit code 5\)"):
            engine.collective_rpc("deeds:leave", engine.worker_pids()[1])
        with pytest.raises(EngineError, match=r"broken .*rank 1 died"):
            engine.collective_rpc("os:getpid")


def test_a_worker_that_dies_within_a_step_is_named() -> None:
    with Engine(small(tensor_parallel=2)) as engine:
        engine.collective_rpc("deeds:spoil", engine.worker_pids()[1], "leave")
        with pytest.raises(EngineError, match=r"rank 1 died \(exit code 7\)"):
            engine.generate([default_prompt(9)], 3)


def test_a_worker_that_was_killed_between_calls_is_named() -> None:
    with Engine(small(tensor_parallel=2)) as engine:
        os.kill(engine.worker_pids()[1], signal.SIGKILL)
        with pytest.raises(EngineError, match=r"rank 1 died \(exit code -9\)"):
            engine.generate([default_prompt(9)], 3)


def test_a_call_that_fails_in_process_is_an_engine_error() -> None:
    with Engine(small(in_process=True)) as engine:
        with pytest.raises(EngineError, match=r"(?s)^rank 0: .*ZeroDivisionError"):
            engine.collective_rpc("operator:truediv", 1, 0)
        assert engine.collective_rpc("operator:add", 1, 2) == [3]


@pytest.mark.parametrize("in_process", [True, False])
def test_closing_twice_is_fine_and_a_closed_engine_says_so(*, in_process: bool) -> None:
    engine = Engine(small(in_process=in_process))
    pids = engine.worker_pids()
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.generate([default_prompt(9)], 3)
    if not in_process:
        with pytest.raises(ProcessLookupError):
            os.kill(pids[0], 0)

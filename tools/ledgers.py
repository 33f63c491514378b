"""Ledgers of any size for measurements of the tool itself: whole records of 4 KB, as an engine of two ranks gives."""

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path

from abtest.ledger import codec, store
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

ARMS = ("stock", "splitkv")
SHA = "5d748dad5d4c15d8ef21e3e45c9c16263e349c49fa740c7016af13461b68d481"
RECORD_BYTES = 4096
PAIRS = 5


def write(folder: Path, records: int, conditions: int, seed: int = 1) -> Path:
    """Write a run's folder with about so many records, spread over conditions, two arms, and rounds."""
    folder.mkdir(parents=True)
    rounds = max(1, records // (conditions * len(ARMS)))
    with (folder / store.LEDGER).open("w", encoding="utf-8") as file:
        for record in _records(conditions, rounds, random.Random(seed)):
            file.write(codec.encode(record))
    store.write_json(folder / store.RUN, _run(folder.name, conditions, rounds))
    return folder


def _run(name: str, conditions: int, rounds: int) -> dict[str, object]:
    return {
        "schema": 1, "kind": "run", "run": name, "experiment": "generated", "experiment_path": "-",
        "created": "", "spec_sha256": SHA, "parts": {}, "baseline": ARMS[0],
        "arms": {arm: {"file": f"kernel.py (md5 {arm})"} for arm in ARMS},
        "conditions": [[512 * (number + 1), 1] for number in range(conditions)], "rounds": rounds,
        "isolation": "docker", "why_runtime": "generated", "image": {}, "host": "generated",
        "abtest": "-", "estimator": "differential",
    }  # fmt: skip


def _records(conditions: int, rounds: int, rng: random.Random) -> Iterator[TrialRecord]:
    for number in range(1, rounds + 1):
        arms = ARMS if number % 4 in (0, 1) else ARMS[::-1]
        for condition in range(conditions):
            for slot, arm in enumerate(arms, start=1):
                yield _record(arm, 512 * (condition + 1), number, slot, rng)


TELEMETRY_BYTES = 250  # of one without readings


def _record(arm: str, depth: int, number: int, slot: int, rng: random.Random) -> TrialRecord:
    token_s = (0.02 if arm == ARMS[0] else 0.015) * rng.gauss(1, 0.01)
    pairs = tuple(
        Pair(rng.gauss(0.5, 0.001), 0.5 + 56 * token_s * rng.gauss(1, 0.002), first)
        for first in ("short", "long", "short", "long", "short")[:PAIRS]
    )
    record = TrialRecord(
        run="generated", trial=f"r{number:05d}-{depth}-s{slot}-{arm}", spec_sha256=SHA, arm=arm, depth=depth,
        batch=1, round=number, slot=slot, order=2 * number + slot, discarded=False, status=Status.OK,
        started_at="2026-01-01T00:00:00Z", isolation="docker", tokens=(8, 64), pairs=pairs, warmup=pairs[0],
        phases_s={name: rng.random() for name in ("sandbox", "import", "init", "measure", "teardown")},
        token_s_per_token=tuple(token_s * rng.gauss(1, 0.001) for _ in pairs), outputs=Outputs(SHA),
        prompt_sha256=SHA, identity=_identity(arm, rng.randrange(2, 1 << 22)), routes=_routes(arm), environment_sha256=SHA,
        container=ContainerFacts(f"{rng.getrandbits(256):064x}", f"sha256:{SHA}", None, SHA), host="generated",
        environment={"engine.tensor_parallel": "2", "python": "3.11.9", "cpu.cores": "16"},
        files={"trial.json": f"{rng.getrandbits(256):064x}", "telemetry.csv": f"{rng.getrandbits(256):064x}"},
    )  # fmt: skip
    lacking = RECORD_BYTES - len(codec.encode(record))
    return dataclasses.replace(
        record, telemetry=Telemetry(0.2, 0, absent=("7" * max(0, lacking - TELEMETRY_BYTES),))
    )


def _identity(arm: str, pid: int) -> tuple[RankIdentity, ...]:
    return tuple(
        RankIdentity(
            rank, pid + rank, when, "engine/ops/kernel.py", "/site-packages/engine/ops/kernel.py",
            arm.ljust(32, "0"), SHA, SHA, SHA, match=True,
        )
        for rank in (0, 1) for when in ("before", "after")
    )  # fmt: skip


def _routes(arm: str) -> tuple[RouteCount, ...]:
    return tuple(
        RouteCount(rank, phase, {"head_size": 256, "use_splitkv": arm == ARMS[1]}, 64)
        for rank in (0, 1)
        for phase in ("prefill", "decode")
    )


def size_of(folder: Path) -> int:
    """Give the bytes of the ledger."""
    return (folder / store.LEDGER).stat().st_size

"""Ledgers of any size for measurements of the tool itself: whole records of 4 KB, as an engine of two ranks gives."""

import dataclasses
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
TOKEN_S = {"stock": 0.02, "splitkv": 0.015}


def write(folder: Path, records: int, conditions: int, seed: int = 1) -> Path:
    """Write a run's folder with about so many records, spread over conditions, two arms, and rounds."""
    folder.mkdir(parents=True)
    rounds = max(1, records // (conditions * len(ARMS)))
    with (folder / store.LEDGER).open("w", encoding="utf-8") as file:
        file.writelines(_lines(conditions, rounds, random.Random(seed)))
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


def _lines(conditions: int, rounds: int, rng: random.Random) -> Iterator[str]:
    """Write one whole record per cell through the codec; the others differ from it in what a trial measures."""
    bodies: dict[tuple[str, int], dict[str, Any]] = {}
    for number in range(1, rounds + 1):
        arms = ARMS if number % 4 in (0, 1) else ARMS[::-1]
        for condition in range(conditions):
            depth = 512 * (condition + 1)
            for slot, arm in enumerate(arms, start=1):
                if (arm, depth) not in bodies:
                    bodies[arm, depth] = json.loads(codec.encode(_record(arm, depth, rng)))
                    del bodies[arm, depth]["crc32"]
                yield codec.line_of(_measured(bodies[arm, depth], number, slot, rng))


def _measured(body: dict[str, Any], number: int, slot: int, rng: random.Random) -> dict[str, Any]:
    """Change in place what is another in every trial: its place, its times, its processes and its files."""
    token_s = TOKEN_S[body["arm"]] * rng.gauss(1, 0.01)
    body["trial"] = f"r{number:05d}-{body['depth']}-s{slot}-{body['arm']}"
    body.update(round=number, slot=slot, order=2 * number + slot)
    for pair in body["pairs"]:
        pair["t_short_s"] = rng.gauss(0.5, 0.001)
        pair["t_long_s"] = 0.5 + 56 * token_s * rng.gauss(1, 0.002)
    body["token_s_per_token"] = [token_s * rng.gauss(1, 0.001) for _ in body["pairs"]]
    body["phases_s"] = {name: rng.random() for name in body["phases_s"]}
    body["container"]["id"] = f"{rng.getrandbits(256):064x}"
    body["files"] = {name: f"{rng.getrandbits(256):064x}" for name in body["files"]}
    pid = rng.randrange(2, 1 << 22)
    for entry in body["identity"]:
        entry["pid"] = pid + entry["rank"]
    return body


TELEMETRY_BYTES = 250  # of one without readings


def _record(arm: str, depth: int, rng: random.Random) -> TrialRecord:
    pairs = tuple(Pair(0.5, 1.5, first) for first in ("short", "long", "short", "long", "short"))
    record = TrialRecord(
        run="generated", trial="", spec_sha256=SHA, arm=arm, depth=depth, batch=1, round=0, slot=0, order=0,
        discarded=False, status=Status.OK, started_at="2026-01-01T00:00:00Z", isolation="docker", tokens=(8, 64),
        pairs=pairs, warmup=pairs[0], token_s_per_token=(0.02,) * len(pairs), outputs=Outputs(SHA),
        phases_s=dict.fromkeys(("sandbox", "import", "init", "measure", "teardown"), 0.123456789012345),
        prompt_sha256=SHA, identity=_identity(arm, 1 << 21), routes=_routes(arm), environment_sha256=SHA,
        container=ContainerFacts(f"{rng.getrandbits(256):064x}", f"sha256:{SHA}", None, SHA), host="generated",
        environment={"engine.tensor_parallel": "2", "python": "3.11.9", "cpu.cores": "16"},
        files=dict.fromkeys(("trial.json", "telemetry.csv"), SHA),
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

"""A trial: planned, and as the ledger records it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

import msgspec

from abtest.model.names import Cell, Condition, cell_of, condition_of
from abtest.model.telemetry import Telemetry

# What no clock can have read, and no engine can have been asked for, is refused where records are read.
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Tokens = Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]
Scalar = str | int | float | bool | None


class Status(StrEnum):
    """How a trial ended."""

    OK = "ok"
    FAILED = "failed"  # infrastructure: the sandbox, the engine or its start
    INVALID = "invalid"  # identity, routes or counts: the set-up is wrong
    VOID = "void"  # the machine's state was not what the comparison needs


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """What will be run: one cell in one round.

    Args:
        slot: place inside the block, from 1.
        order: place of the trial in the whole plan, from 1.
        discarded: a warm-up trial, kept in the ledger and never counted.
    """

    cell: Cell
    round: int
    slot: int
    order: int
    discarded: bool = False

    @property
    def name(self) -> str:
        """The trial's name, unique in a plan and fit for a folder."""
        kind = "warmup" if self.discarded else f"r{self.round:02d}"
        return f"{kind}-{self.cell.condition}-s{self.slot}-{self.cell.arm}"


@dataclass(frozen=True, slots=True)
class Pair:
    """One (T_short, T_long) measurement, in seconds; `first` is "short" or "long"."""

    t_short_s: Seconds
    t_long_s: Seconds
    first: str


@dataclass(frozen=True, slots=True)
class RankIdentity:
    """What one worker process says of the target it runs.

    Args:
        when: "before" or "after" the timed pairs.
        path: the target's `__file__` as the worker resolved it.
        target: the target as the experiment names it.
        loaded_code: digest of the code objects that are loaded.
        compiled_code: digest of a fresh compile of the file at `path`.
        match: whether every loaded code object is one of the fresh compile's.
        copies: other files on the worker's import path that bear the target's name.
        pycache_prefix: `sys.pycache_prefix` in force.
        triton: hashes of JIT functions, where there are any.
    """

    rank: int
    pid: int
    when: str
    target: str
    path: str
    md5: str
    sha256: str
    loaded_code: str
    compiled_code: str
    match: bool
    copies: tuple[str, ...] = ()
    pycache_prefix: str | None = None
    triton: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class RouteCount:
    """One distinct dispatch decision of one rank, in one phase ("prefill", "capture", "decode")."""

    rank: int
    phase: str
    values: Mapping[str, Scalar]
    count: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel of one rank's decode steps: launches and milliseconds per step, from a profile."""

    rank: int
    name: str
    calls: float
    ms_per_step: float


@dataclass(frozen=True, slots=True)
class Outputs:
    """The token ids' hash, and where they first differ from the first trial of the condition."""

    sha256: str
    first_divergence: int | None = None


@dataclass(frozen=True, slots=True)
class ContainerFacts:
    """Which sandbox it was, where it was a container."""

    id: str
    image_id: str
    image_digest: str | None
    mounts_sha256: str


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One line of the ledger, kind `trial`.

    Args:
        phases_s: seconds per phase (sandbox, import, init, warmup, measure, teardown).
        tokens: (n_short, n_long).
        token_s_per_token: (t_long - t_short) / (n_long - n_short) inside the long request of each pair,
            in seconds per token; empty where no time stamps exist.
        kernels: what decode steps launched in an untimed, profiled request.
        engine_log: findings in the engine's log: component, fact, value, the line itself, in_window (while pairs ran).
        environment: flat facts that must be equal between arms but for what is declared.
        caches: the policy (of older records that alone, as text); where one was kept, its key, and its fingerprint before and after.
        files: sidecar files of the trial with their sha256.
    """

    run: str
    trial: str
    spec_sha256: str
    arm: str
    depth: int
    batch: int
    round: int
    slot: int
    order: int
    discarded: bool
    status: Status
    started_at: str
    isolation: str
    tokens: tuple[Tokens, Tokens]
    reason: str | None = None
    flags: tuple[str, ...] = ()
    phases_s: Mapping[str, float] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    warmup: Pair | None = None
    token_s_per_token: tuple[float, ...] = ()
    outputs: Outputs | None = None
    prompt_sha256: str | None = None
    identity: tuple[RankIdentity, ...] = ()
    routes: tuple[RouteCount, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    engine_log: tuple[Mapping[str, Scalar], ...] = ()
    container: ContainerFacts | None = None
    host: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    environment_sha256: str | None = None
    telemetry: Telemetry | None = None
    caches: Mapping[str, str] | str | None = None
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def cache_policy(self) -> str | None:
        return self.caches if isinstance(self.caches, str) else (self.caches or {}).get("policy")

    @property
    def condition(self) -> Condition:
        return condition_of(self.depth, self.batch)

    @property
    def cell(self) -> Cell:
        return cell_of(self.arm, self.depth, self.batch)

    @property
    def counts(self) -> bool:
        """Whether the trial may enter a mean: proved, complete and not a warm-up."""
        return self.status is Status.OK and not self.discarded

"""What a trial proved: a pure judgement of the probe's report against what was planned."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from abtest.model.sandbox import Collected, Exit, Swap
from abtest.model.trial import Kernel, Pair, PlannedTrial, RankIdentity, RouteCount, Scalar, Status
from abtest.runner.evidence import Evidence
from abtest.spec import Experiment

KILLED = 137  # 128 + SIGKILL
WHEN = ("before", "after")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A status with its reason; the reason begins with a short name."""

    status: Status
    reason: str | None = None


OK = Judgement(Status.OK)


def why_no_report(exit_: Exit | None, collected: Collected) -> Judgement:
    """Explain a sandbox that ended without a report; where the cause is unknown, say so."""
    tail = collected.log_tail.strip()[-600:]
    last = f"; its last words: {tail}" if tail else "; it printed nothing"
    if exit_ is None:
        return Judgement(Status.FAILED, f"no-exit: the sandbox vanished while it ran{last}")
    if exit_.cause is not None:
        return Judgement(Status.FAILED, f"{exit_.cause} (exit code {exit_.code}){last}")
    if exit_.code == KILLED or exit_.oom_killed:
        causes = {
            True: "out-of-memory: the kernel killed it for memory",
            False: "killed: something sent SIGKILL, and it was not for memory",
            None: "killed: by SIGKILL, for memory or by somebody; this runtime cannot know",
        }
        return Judgement(Status.FAILED, f"{causes[exit_.oom_killed]}{last}")
    return Judgement(Status.FAILED, f"no-report: the probe ended with exit code {exit_.code}{last}")


def judge(
    experiment: Experiment,
    planned: PlannedTrial,
    swaps: Sequence[Swap],
    evidence: Evidence,
    target_paths: Mapping[str, str] = MappingProxyType({}),
) -> Judgement:
    """Judge one report; the first fault found decides.

    Args:
        target_paths: where each target must have been loaded from; empty where the runtime cannot know.
    """
    if evidence.error is not None:
        kind, name, message = evidence.error
        return Judgement(
            Status.INVALID if kind == "invalid" else Status.FAILED, f"{name}: {message}"
        )
    faults = (
        *_identity_faults(experiment.engine.tensor_parallel, swaps, evidence),
        *_path_faults(target_paths, evidence),
        *_route_faults(experiment, planned.cell.arm, evidence.routes, evidence.kernels),
        *_pair_faults(experiment, evidence.pairs),
        *_prompt_faults(planned.cell.condition.depth, evidence),
    )
    return Judgement(Status.INVALID, faults[0]) if faults else OK


def _identity_faults(ranks: int, swaps: Sequence[Swap], evidence: Evidence) -> Iterator[str]:
    said = {(entry.rank, entry.when, entry.target): entry for entry in evidence.identity}
    for swap in swaps:
        for rank in range(ranks):
            for when in WHEN:
                entry = said.get((rank, when, swap.target))
                if entry is None:
                    yield f"identity-missing: rank {rank} did not say {when} timing which {swap.target} it runs"
                    continue
                yield from _entry_faults(entry, swap)
    pids = {entry.rank: entry.pid for entry in evidence.identity}
    strangers = set(pids.values()) - set(evidence.worker_pids)
    if len(set(pids.values())) < len(pids) or strangers:
        yield f"identity-missing: ranks {pids} do not match the engine's workers {evidence.worker_pids}"


def _path_faults(target_paths: Mapping[str, str], evidence: Evidence) -> Iterator[str]:
    for entry in evidence.identity:
        wanted = target_paths.get(entry.target, entry.path)
        if entry.path != wanted:
            yield f"identity-mismatch: rank {entry.rank} loaded {entry.path}, the swapped file is {wanted}"


def _entry_faults(entry: RankIdentity, swap: Swap) -> Iterator[str]:
    where = f"rank {entry.rank}, {entry.when} timing"
    if entry.sha256 != swap.sha256:
        others = f"; other copies: {', '.join(entry.copies)}" if entry.copies else ""
        yield (
            f"identity-mismatch: {where}: {entry.path} has md5 {entry.md5}, this arm's file has {swap.md5}{others}"
        )
    elif not entry.match:
        yield f"code-mismatch: {where}: the loaded code is not what {entry.path} compiles to"


def _route_faults(
    experiment: Experiment,
    arm: str,
    routes: Sequence[RouteCount],
    kernels: Sequence[Kernel],
) -> Iterator[str]:
    if experiment.routes is None:
        return
    expected = experiment.routes.expect.get(arm, {})
    for rank in range(experiment.engine.tensor_parallel):
        decode = _deciding(rank, routes, kernels)
        if not decode:
            yield f"recorder-missing: rank {rank} recorded no decode route at {experiment.routes.at}"
        for route in decode:
            yield from _value_faults(rank, route.values, expected)


def _deciding(
    rank: int, routes: Sequence[RouteCount], kernels: Sequence[Kernel]
) -> list[RouteCount]:
    """Choose the records that say what a decode step does.

    Where steps replay graphs, the decision was taken when these were captured; that stands for the decode steps only
    beside a profile of what they really launched.
    """
    own = [route for route in routes if route.rank == rank]
    decode = [route for route in own if route.phase == "decode"]
    if decode or not any(row.rank == rank for row in kernels):
        return decode
    return [route for route in own if route.phase == "capture"]


def _value_faults(
    rank: int, values: Mapping[str, Scalar], expected: Mapping[str, Scalar]
) -> Iterator[str]:
    for name, value in expected.items():
        seen = values.get(name, "absent")
        if seen != value or isinstance(seen, bool) != isinstance(value, bool):
            yield f"route-mismatch: rank {rank} decoded with {name}={seen}, the experiment expects {value}"


def _pair_faults(experiment: Experiment, pairs: Sequence[Pair]) -> Iterator[str]:
    if len(pairs) != experiment.pairs:
        yield f"pairs-missing: {len(pairs)} of {experiment.pairs} pairs were measured"
    for number, pair in enumerate(pairs, start=1):
        times = (pair.t_short_s, pair.t_long_s)
        if not all(math.isfinite(time) and time > 0 for time in times):
            yield f"bad-times: pair {number} has T_short {pair.t_short_s} s and T_long {pair.t_long_s} s"


def _prompt_faults(depth: int, evidence: Evidence) -> Iterator[str]:
    if evidence.prompt is None or evidence.prompt[1] != depth:
        seen = "nothing" if evidence.prompt is None else evidence.prompt[1]
        yield f"wrong-prompt-length: the engine counted {seen}, the depth is {depth}"

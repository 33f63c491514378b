"""One trial: open a sandbox, watch the probe, judge what it proved, make the record."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from abtest.errors import InfrastructureError
from abtest.model.sandbox import Collected, Exit
from abtest.model.telemetry import Telemetry
from abtest.model.trial import Outputs, PlannedTrial, Status, TrialRecord
from abtest.ports import Clock, Listener, Runtime, Sandbox, TelemetrySource, Watch
from abtest.runner.evidence import BadReportError, Evidence, environment_sha256, read_report
from abtest.runner.judge import Judgement, judge, why_no_report
from abtest.runner.machine import lost_by_log, void_reason
from abtest.runner.setup import Setup, sandbox_request

POLL_FIRST_S = 0.02
POLL_MOST_S = 0.25
STARTED = ("warmup", "measure", "teardown", "done")


@dataclass(frozen=True, slots=True)
class Finished:
    """A trial's record, and the token ids that its outputs hash stands for."""

    record: TrialRecord
    output_ids: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Ports:
    """What a trial needs from outside.

    Args:
        telemetry: what watches the machine; None where there is no machine, as in a simulation.
    """

    runtime: Runtime
    clock: Clock
    listener: Listener
    telemetry: TelemetrySource | None = None


@dataclass(frozen=True, slots=True)
class Before:
    """What the run knows when a trial starts.

    Args:
        idle_s: gap since the trial before; None for the first one.
        link_width: the widest link seen so far.
    """

    idle_s: float | None = None
    link_width: float | None = None


@dataclass(frozen=True, slots=True)
class _Watched:
    """What the machine said of one trial."""

    telemetry: Telemetry | None = None
    files: Mapping[str, str] = field(default_factory=dict)


def run_trial(
    setup: Setup,
    planned: PlannedTrial,
    trial: str,
    out_dir: str,
    ports: Ports,
    *,
    before: Before = Before(),
) -> Finished:
    """Run one trial in a fresh sandbox; the sandbox is gone when this returns or raises.

    Raises:
        UnprovedError: the sandbox differs from its image in more than the swaps.
        InfrastructureError: the sandbox could not be made or watched.
    """
    clock = ports.clock
    started_at, start_s = clock.utc(), clock.monotonic_s()
    request = sandbox_request(setup, planned, trial, out_dir)
    facts = {} if ports.telemetry is None else ports.telemetry.facts()
    watching = nullcontext() if ports.telemetry is None else ports.telemetry.watch()
    with watching as watch, ports.runtime.open(request) as sandbox:
        sandbox.start()
        ended = _watch(setup, planned, sandbox, ports)
        collected = sandbox.collect()
    whole_s = clock.monotonic_s() - start_s
    evidence, judgement = _judged(setup, planned, ended, collected)
    watched = _watched(watch, evidence, collected, out_dir, before)
    judgement = _with_machine(setup, judgement, watched.telemetry, collected, before)
    environment = _environment(setup, evidence, facts)
    phases_s = {**evidence.phases_s}
    phases_s["sandbox"] = max(0.0, whole_s - sum(phases_s.values()))
    record = replace(
        blank_record(setup, planned, trial, started_at, judgement),
        flags=(*evidence.flags, *collected.flags, *_cache_flags(planned, collected)),
        phases_s={name: round(value, 6) for name, value in phases_s.items()},
        pairs=evidence.pairs,
        warmup=evidence.warmup,
        token_s_per_token=evidence.token_s_per_token,
        outputs=None if evidence.outputs_sha256 is None else Outputs(evidence.outputs_sha256),
        prompt_sha256=None if evidence.prompt is None else evidence.prompt[0],
        identity=evidence.identity,
        routes=evidence.routes,
        kernels=evidence.kernels,
        engine_log=evidence.engine_log,
        container=collected.container,
        environment=environment,
        environment_sha256=environment_sha256(environment),
        telemetry=watched.telemetry,
        caches={"policy": setup.experiment.caches, **collected.caches},
        files={**collected.files, **watched.files},
    )
    return Finished(record, evidence.output_ids)


def _cache_flags(planned: PlannedTrial, collected: Collected) -> tuple[str, ...]:
    """Find a counted trial whose kept cache nobody had filled before it."""
    cold = collected.caches.get("before") == "empty" and not planned.discarded
    return ("cache-cold",) if cold else ()


def _watched(
    watch: Watch | None, evidence: Evidence, collected: Collected, out_dir: str, before: Before
) -> _Watched:
    """Read what was sampled; a sidecar that cannot be written fails the trial like any full disk."""
    if watch is None:
        return _Watched()
    container = None if collected.container is None else collected.container.id
    try:
        telemetry, files = watch.report(evidence.windows, out_dir, container)
    except OSError as error:
        raise InfrastructureError(
            f"the samples of the machine cannot be written to {out_dir}: {error}",
            remedy="Look at the disk's free space, then use --resume.",
        ) from error
    idle_s = None if before.idle_s is None else round(before.idle_s, 3)
    return _Watched(replace(telemetry, idle_s=idle_s), files)


def _with_machine(
    setup: Setup,
    judgement: Judgement,
    seen: Telemetry | None,
    collected: Collected,
    before: Before,
) -> Judgement:
    """Void what the machine spoiled; a wrong set-up stays invalid, whatever the machine did."""
    rules = setup.experiment.telemetry.void
    if judgement.status is Status.FAILED and "gpu-lost" in rules:
        lost = lost_by_log(f"{judgement.reason}\n{collected.log_tail}")
        return judgement if lost is None else Judgement(Status.VOID, lost)
    if judgement.status is not Status.OK or seen is None:
        return judgement
    reason = void_reason(seen, rules, before.link_width)
    return judgement if reason is None else Judgement(Status.VOID, reason)


def _environment(setup: Setup, evidence: Evidence, machine: Mapping[str, str]) -> dict[str, str]:
    """Put together what the sandbox, the machine and the set-up say; empty where the sandbox said nothing."""
    if not evidence.environment:
        return {}
    named = {f"machine.{name}": value for name, value in machine.items()}
    return {**evidence.environment, **named, **setup.facts}


def blank_record(
    setup: Setup, planned: PlannedTrial, trial: str, started_at: str, judgement: Judgement
) -> TrialRecord:
    """Make the record of a trial of which nothing but its end is known."""
    return TrialRecord(
        run=setup.run,
        trial=trial,
        spec_sha256=setup.spec_sha256,
        arm=planned.cell.arm,
        depth=planned.cell.condition.depth,
        batch=planned.cell.condition.batch,
        round=planned.round,
        slot=planned.slot,
        order=planned.order,
        discarded=planned.discarded,
        status=judgement.status,
        started_at=started_at,
        isolation=setup.isolation,
        tokens=setup.experiment.tokens,
        reason=judgement.reason,
        host=setup.host,
    )


def with_divergence(finished: Finished, reference: tuple[tuple[int, ...], ...]) -> TrialRecord:
    """Add where the trial's tokens first differ from those of the condition's first trial."""
    record = finished.record
    if record.outputs is None or not reference:
        return record
    first = first_divergence(reference, finished.output_ids)
    return replace(record, outputs=replace(record.outputs, first_divergence=first))


def first_divergence(
    reference: tuple[tuple[int, ...], ...], other: tuple[tuple[int, ...], ...]
) -> int | None:
    """Find the first step at which any sequence differs; None where all are equal.

    >>> first_divergence(((1, 2, 3),), ((1, 9, 3),))
    1
    """
    places = [
        place
        for left, right in zip(reference, other, strict=False)
        for place, (a, b) in enumerate(zip(left, right, strict=False))
        if a != b
    ]
    return min(places, default=None)


def _watch(
    setup: Setup, planned: PlannedTrial, sandbox: Sandbox, ports: Ports
) -> Exit | Judgement | None:
    """Wait for the end, within the experiment's limits; a limit that is passed is a judgement."""
    limits = setup.experiment.limits
    start_s = ports.clock.monotonic_s()
    wait_s = POLL_FIRST_S
    seen: tuple[str | None, int] = (None, 0)
    while True:
        state = sandbox.poll()
        if (state.phase, state.marks) != seen:
            seen = (state.phase, state.marks)
            ports.listener.phase(planned, state.phase or "start")
        if state.exit is not None:
            return state.exit
        spent_s = ports.clock.monotonic_s() - start_s
        if spent_s > limits.trial_s:
            return Judgement(
                Status.FAILED,
                f"trial-timeout: over {limits.trial_s:g} s in all, in phase {state.phase}",
            )
        if spent_s > limits.start_s and state.phase not in STARTED:
            return Judgement(
                Status.FAILED,
                f"start-timeout: over {limits.start_s:g} s before the warm-up, in phase {state.phase}",
            )
        ports.clock.sleep(wait_s)
        wait_s = min(POLL_MOST_S, wait_s * 1.3)


def _judged(
    setup: Setup, planned: PlannedTrial, ended: Exit | Judgement | None, collected: Collected
) -> tuple[Evidence, Judgement]:
    if isinstance(ended, Judgement):
        return Evidence(), ended
    if collected.report is None:
        return Evidence(), why_no_report(ended, collected)
    try:
        evidence = read_report(collected.report)
    except BadReportError as error:
        return Evidence(), Judgement(Status.FAILED, f"bad-report: {error}")
    swaps = setup.swaps[planned.cell.arm]
    return evidence, judge(setup.experiment, planned, swaps, evidence, collected.target_paths)

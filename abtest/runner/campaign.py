"""The loop over a plan: blocks in order, retries for infrastructure, a stop for anything unproved.

A void trial voids its block: the whole block is run again, so that arms stay paired in time. The void record and
its reason stay in the ledger and are counted; the block's good records are superseded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from abtest.errors import InfrastructureError, UnprovedError
from abtest.model.names import Condition
from abtest.model.trial import PlannedTrial, Status, TrialRecord
from abtest.plan import blocks
from abtest.ports import RecordSink
from abtest.runner.between import Between
from abtest.runner.judge import Judgement
from abtest.runner.setup import Setup
from abtest.runner.trial import Before, Finished, Ports, blank_record, run_trial, with_divergence

Ids = tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class _Memory:
    """What the first good trial of each condition said; later ones are held against it.

    Args:
        link_width: the widest link of any trial.
        between: keeps the gap between trials; None where no machine is watched.
    """

    ids: dict[Condition, Ids] = field(default_factory=dict)
    prompt: dict[Condition, str] = field(default_factory=dict)
    link_width: float | None = None
    between: Between | None = None

    def note(self, record: TrialRecord) -> None:
        """Remember what a trial says of the machine."""
        width = None if record.telemetry is None else record.telemetry.figures.get("link_width")
        if width is not None:
            self.link_width = max(width, self.link_width or 0.0)


def run_campaign(
    setup: Setup,
    plan: Sequence[PlannedTrial],
    sink: RecordSink,
    ports: Ports,
    earlier: Sequence[TrialRecord] = (),
    *,
    started_s: float | None = None,
) -> bool:
    """Run every trial of the plan and record each as soon as it ends.

    Args:
        earlier: standing records of the same ledger, whose prompts must be met again.
        started_s: monotonic time from which `limits.total_s` counts; None for now.

    Returns:
        True when the plan was finished, False when the time budget ended it after a whole block.

    Raises:
        UnprovedError: a trial was invalid: the set-up is wrong, nothing more is run.
        InfrastructureError: a trial failed, or a block was void, more often than `limits.retries` allows;
            or a card was not given back between two trials.
    """
    memory = _memory(setup, ports, earlier)
    start_s = ports.clock.monotonic_s() if started_s is None else started_s
    total_s = setup.experiment.limits.total_s
    for block in blocks(plan):
        if total_s is not None and ports.clock.monotonic_s() - start_s > total_s:
            return False
        _run_block(setup, block, sink, ports, memory, total=len(plan))
    return True


def _memory(setup: Setup, ports: Ports, earlier: Sequence[TrialRecord]) -> _Memory:
    memory = _Memory(prompt={r.condition: r.prompt_sha256 for r in earlier if r.prompt_sha256})
    for record in earlier:
        memory.note(record)
    if ports.telemetry is not None:
        watching = setup.experiment.telemetry
        memory.between = Between(ports.telemetry, ports.clock, watching.idle_s, watching.settle_s)
        memory.between.begin()
    return memory


def _run_block(
    setup: Setup,
    block: Sequence[PlannedTrial],
    sink: RecordSink,
    ports: Ports,
    memory: _Memory,
    *,
    total: int,
) -> None:
    """Run one block until none of its trials is void."""
    void: TrialRecord | None = None
    for _ in range(setup.experiment.limits.retries + 1):
        done: list[TrialRecord] = []
        void = None
        for planned in block:
            ports.listener.trial_started(planned, total)
            record = _run_with_retries(setup, planned, sink, ports, memory)
            if record.status is Status.VOID and not planned.discarded:
                void = record
                break
            done.append(record)
        if void is None:
            return
        for record in done:
            sink.supersede(record.trial, f"its block is void: {void.trial}")
    raise InfrastructureError(
        f"every attempt at the block of {void and void.trial} was void; the last one: {void and void.reason}",
        remedy="Steady the machine, then use --resume; "
        "where this state is the machine's normal one, take its rule out of `telemetry.void` and start anew.",
    )


def _run_with_retries(
    setup: Setup, planned: PlannedTrial, sink: RecordSink, ports: Ports, memory: _Memory
) -> TrialRecord:
    """Run one trial until it did not fail; a void one is returned, for its block to decide."""
    last: TrialRecord | None = None
    for _ in range(setup.experiment.limits.retries + 1):
        if last is not None:
            sink.supersede(last.trial, "tried again after a failure")
        idle_s = None if memory.between is None else memory.between.wait()
        trial, out_dir = sink.open_trial(planned.name)
        last = _attempt(setup, planned, (trial, out_dir), ports, memory, idle_s=idle_s)
        sink.append(last)
        ports.listener.trial_ended(last)
        if last.status in (Status.OK, Status.VOID):
            return last
        if last.status is Status.INVALID:
            raise UnprovedError(
                f"trial {trial} is invalid: {last.reason}",
                remedy=f"Nothing more was run. Mend the set-up; the trial's log is in {out_dir}.",
            )
    raise InfrastructureError(
        f"trial {planned.name} failed on every attempt; the last one: {last and last.reason}",
        remedy=f"Look into trials/{last and last.trial}, mend the cause, then use --resume.",
    )


def _attempt(
    setup: Setup,
    planned: PlannedTrial,
    place: tuple[str, str],
    ports: Ports,
    memory: _Memory,
    *,
    idle_s: float | None,
) -> TrialRecord:
    """Run one attempt; errors of the sandbox become a record first, so that none is lost."""
    trial, out_dir = place
    started_at = ports.clock.utc()
    before = Before(idle_s, memory.link_width)
    try:
        finished = run_trial(setup, planned, trial, out_dir, ports, before=before)
        memory.note(finished.record)
        return _held_against_memory(finished, memory)
    except InfrastructureError as error:
        judgement = Judgement(Status.FAILED, f"sandbox: {error.what}")
    except UnprovedError as error:
        judgement = Judgement(Status.INVALID, f"sandbox: {error.what}")
    finally:
        if memory.between is not None:
            memory.between.trial_ended()
    return blank_record(setup, planned, trial, started_at, judgement)


def _held_against_memory(finished: Finished, memory: _Memory) -> TrialRecord:
    record = finished.record
    if record.status is not Status.OK:
        return record
    condition = record.condition
    prompt = memory.prompt.setdefault(condition, record.prompt_sha256 or "")
    if prompt != (record.prompt_sha256 or ""):
        reason = "prompt-changed: the prompt's hash is not that of the condition's earlier trials"
        return replace(record, status=Status.INVALID, reason=reason)
    ids = memory.ids.setdefault(condition, finished.output_ids)
    return with_divergence(finished, ids)

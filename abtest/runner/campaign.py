"""The loop over a plan: blocks in order, retries for infrastructure, a stop for anything unproved."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from abtest.errors import InfrastructureError, UnprovedError
from abtest.model.names import Condition
from abtest.model.trial import PlannedTrial, Status, TrialRecord
from abtest.plan import blocks
from abtest.ports import RecordSink
from abtest.runner.judge import Judgement
from abtest.runner.setup import Setup
from abtest.runner.trial import Finished, Ports, blank_record, run_trial, with_divergence

Ids = tuple[tuple[int, ...], ...]


@dataclass(slots=True)
class _Memory:
    """What the first good trial of each condition said; later ones are held against it."""

    ids: dict[Condition, Ids] = field(default_factory=dict)
    prompt: dict[Condition, str] = field(default_factory=dict)


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
        InfrastructureError: a trial failed more often than `limits.retries` allows.
    """
    memory = _Memory(prompt={r.condition: r.prompt_sha256 for r in earlier if r.prompt_sha256})
    start_s = ports.clock.monotonic_s() if started_s is None else started_s
    total_s = setup.experiment.limits.total_s
    for block in blocks(plan):
        if total_s is not None and ports.clock.monotonic_s() - start_s > total_s:
            return False
        for planned in block:
            ports.listener.trial_started(planned, len(plan))
            _run_with_retries(setup, planned, sink, ports, memory)
    return True


def _run_with_retries(
    setup: Setup, planned: PlannedTrial, sink: RecordSink, ports: Ports, memory: _Memory
) -> None:
    last: TrialRecord | None = None
    for _ in range(setup.experiment.limits.retries + 1):
        if last is not None:
            sink.supersede(last.trial, "tried again after a failure")
        trial, out_dir = sink.open_trial(planned.name)
        last = _attempt(setup, planned, (trial, out_dir), ports, memory)
        sink.append(last)
        ports.listener.trial_ended(last)
        if last.status is Status.OK:
            return
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
    setup: Setup, planned: PlannedTrial, place: tuple[str, str], ports: Ports, memory: _Memory
) -> TrialRecord:
    """Run one attempt; errors of the sandbox become a record first, so that none is lost."""
    trial, out_dir = place
    started_at = ports.clock.utc()
    try:
        return _held_against_memory(run_trial(setup, planned, trial, out_dir, ports), memory)
    except InfrastructureError as error:
        judgement = Judgement(Status.FAILED, f"sandbox: {error.what}")
    except UnprovedError as error:
        judgement = Judgement(Status.INVALID, f"sandbox: {error.what}")
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

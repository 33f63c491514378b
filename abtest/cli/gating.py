"""Gates on the command line: read, checked before anything runs, fed with rounds, and turned into an exit code."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from abtest.errors import (
    AbtestError,
    InconclusiveError,
    UnprovedError,
    UsageError,
    VerificationFailedError,
)
from abtest.ledger import store
from abtest.model.gate import Decision, Gate, GateResult
from abtest.model.names import Condition
from abtest.model.result import Summary

CAPS = (4, 6, 8)


@dataclass(frozen=True, slots=True)
class Gates:
    """What is asked of the candidates.

    Args:
        cap: looks and rounds end here.
    """

    asked: tuple[Gate, ...]
    cap: int = CAPS[-1]

    def __bool__(self) -> bool:
        return bool(self.asked)


NO_GATES = Gates(())


def parse_gates(texts: Sequence[str], cap: int) -> Gates:
    """Read `--gate` and `--gate-rounds`.

    Raises:
        UsageError: one of them is not what it should be.
    """
    if cap not in CAPS:
        raise UsageError(
            f"--gate-rounds {cap}: looks are taken at 4, 6 and 8 rounds",
            remedy="Give one of these as the last look.",
        )
    try:
        return Gates(tuple(Gate.parse(text) for text in texts), cap)
    except ValueError as error:
        raise UsageError(
            f"--gate: {error}", remedy="Put it in quotes: `>` is the shell's."
        ) from error


def check_gates(
    gates: Gates, arms: Sequence[str], baseline: str, conditions: Sequence[Condition]
) -> None:
    """Refuse a gate that could never be judged.

    Raises:
        UsageError: no such arm, the baseline itself, or no such condition.
    """
    for gate in gates.asked:
        if gate.arm not in arms or gate.arm == baseline:
            candidates = ", ".join(arm for arm in arms if arm != baseline)
            raise UsageError(
                f"--gate {gate}: {gate.arm!r} is not a candidate here",
                remedy=f"The candidates are: {candidates}.",
            )
        if not gate.cells(conditions):
            known = ", ".join(map(str, conditions))
            raise UsageError(
                f"--gate {gate}: no such condition here", remedy=f"The conditions are: {known}."
            )


def with_gates(
    summary: Summary, run_folder: Path, gates: Gates, rounds: tuple[int, int] | None = None
) -> Summary:
    """Judge the gates by the records in the ledger, of these rounds if they are given."""
    if not gates:
        return summary
    from abtest.analysis.gate import judge

    records = [
        record
        for record in store.read(run_folder).standing
        if rounds is None or rounds[0] <= record.round <= rounds[1]
    ]
    return replace(summary, gates=judge(gates.asked, summary, records, gates.cap))


def gate_error(found: Sequence[GateResult]) -> AbtestError | None:
    """Choose the error of all gates together; None only where there are gates and each is met."""
    decisions = {one.decision for one in found}
    names = {
        decision: ", ".join(
            f"{one.gate} at {one.cell}" for one in found if one.decision is decision
        )
        for decision in decisions
    }
    if Decision.UNPROVED in decisions:
        return UnprovedError(
            f"gate not judged: the trials behind {names[Decision.UNPROVED]} are not proved",
            remedy="Look at the flags above, mend the set-up, and start a new run.",
        )
    if Decision.NOT_MET in decisions:
        return VerificationFailedError(
            f"gate not met: {names[Decision.NOT_MET]}", remedy="Read its looks under the table."
        )
    if Decision.INCONCLUSIVE in decisions or not decisions:
        which = names.get(Decision.INCONCLUSIVE, "none of its cells was measured")
        return InconclusiveError(
            f"gate inconclusive: {which}",
            remedy="Read why under the table; steadier rounds, or a lower gate, can be decided.",
        )
    return None

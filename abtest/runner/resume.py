"""Going on with a ledger: which blocks are whole, which records a new attempt replaces."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from abtest.errors import LedgerError
from abtest.model.names import Condition
from abtest.model.trial import Status, TrialRecord

Block = tuple[int, Condition]


@dataclass(frozen=True, slots=True)
class Progress:
    """What of a plan is done.

    Args:
        whole: blocks in which every arm has one good record.
        leftover: names of records of blocks that are not whole; a new attempt replaces them. Void ones stay:
            how many there were is part of the result.
    """

    whole: frozenset[Block]
    leftover: tuple[str, ...]


def progress(records: Sequence[TrialRecord], arms: Sequence[str]) -> Progress:
    """Sort standing records into whole blocks and leftovers.

    Args:
        records: standing records only, without superseded ones.
        arms: every arm that a block needs.
    """
    found: dict[Block, list[TrialRecord]] = defaultdict(list)
    for record in records:
        if not record.discarded:
            found[record.round, record.condition].append(record)
    whole = {
        block
        for block, members in found.items()
        if {record.arm for record in members if record.counts} >= set(arms)
    }
    leftover = [
        record.trial
        for block, members in found.items()
        if block not in whole
        for record in members
        if record.status is not Status.VOID
    ]
    return Progress(frozenset(whole), tuple(leftover))


def check_same(was: Mapping[str, str], is_now: Mapping[str, str]) -> None:
    """Refuse to mix records of two set-ups.

    Args:
        was: parts with digests as the run began with them.
        is_now: the same, made anew.

    Raises:
        LedgerError: names every part that changed.
    """
    changed = sorted(name for name in {*was, *is_now} if was.get(name) != is_now.get(name))
    if changed:
        raise LedgerError(
            f"since this run began, something changed: {', '.join(changed)}",
            remedy="Restore it, or start a new run: records of two set-ups are never mixed.",
        )


def last_round(records: Sequence[TrialRecord], condition: Condition) -> int:
    """Find the highest round of a condition, whole or not; 0 if there is none."""
    return max((record.round for record in records if record.condition == condition), default=0)

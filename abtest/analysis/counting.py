"""Which records count, and why the others do not: by how a trial ended, never by its value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from abtest.model.names import Cell, Condition
from abtest.model.trial import TrialRecord

Block = tuple[int, Condition]


@dataclass(frozen=True, slots=True)
class Counted:
    """The records that count, in time order.

    Args:
        whole: the blocks in which every arm has a counted record.
        broken: the blocks that have one of some arms only.
        dropped: how many records do not count, by reason.
    """

    records: tuple[TrialRecord, ...]
    whole: frozenset[Block]
    broken: frozenset[Block]
    dropped: dict[str, int]


def count(
    records: Sequence[TrialRecord],
    arms: Sequence[str],
    lost: Mapping[str, int] = MappingProxyType({}),
) -> Counted:
    """Sort records into those that count and those that do not.

    Args:
        records: standing ones, in time order.
        lost: what the ledger holds and does not give: by reason, how many.
    """
    kept: dict[tuple[int, Cell], TrialRecord] = {}
    dropped: Counter[str] = Counter()
    for record in records:
        reason = _why_not(record, arms)
        # The first one stands: a later one could have been made to please.
        if reason is None and kept.setdefault((record.round, record.cell), record) is not record:
            reason = "duplicate"
        if reason is not None:
            dropped[reason] += 1
    dropped += Counter(lost)  # leaves out what is zero
    members: dict[Block, set[str]] = {}
    for record in kept.values():
        members.setdefault((record.round, record.condition), set()).add(record.arm)
    every = set(arms)
    whole = {block for block, present in members.items() if present == every}
    return Counted(
        records=tuple(kept.values()),
        whole=frozenset(whole),
        broken=frozenset(members.keys() - whole),
        dropped=dict(sorted(dropped.items())),
    )


def _why_not(record: TrialRecord, arms: Sequence[str]) -> str | None:
    if record.discarded:
        return "warm-up"
    if not record.counts:
        return record.status.value
    if record.arm not in arms:
        return "other arm"
    return None if record.pairs else "no pairs"

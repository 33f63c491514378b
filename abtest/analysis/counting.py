"""Which records count, and why the others do not: by how a trial ended, never by its value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType

from abtest.model.names import Cell, Condition
from abtest.model.trial import TrialRecord

Block = tuple[int, Condition]
_Found = tuple[set[int], list[TrialRecord], list[TrialRecord], list[int]]


@dataclass(frozen=True, slots=True)
class Counted:
    """The records that count, in time order.

    Args:
        whole: of each condition, the rounds in which every arm has a counted record.
        broken: the blocks that have one of some arms only.
        dropped: how many records do not count, by reason.
        by_cell: the records of each cell, in time order.
        by_condition: those of each condition.
        places: of each cell, where its records stand among all that count.
    """

    records: tuple[TrialRecord, ...]
    whole: Mapping[Condition, AbstractSet[int]]
    broken: frozenset[Block]
    dropped: dict[str, int]
    by_cell: Mapping[Cell, Sequence[TrialRecord]]
    by_condition: Mapping[Condition, Sequence[TrialRecord]]
    places: Mapping[Cell, Sequence[int]]


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
    kept: list[TrialRecord] = []
    dropped: Counter[str] = Counter()
    # A large ledger has few cells: what belongs to one is looked up once for each record, by plain numbers.
    cells: dict[tuple[str, int, int], _Found] = {}
    by_condition: dict[Condition, list[TrialRecord]] = {}
    for record in records:
        reason = None if record.counts and record.pairs else _why_not(record)
        if reason is None and record.arm not in arms:
            reason = "other arm"
        if reason is not None:
            dropped[reason] += 1
            continue
        key = (record.arm, record.depth, record.batch)
        if key not in cells:
            cells[key] = (set(), [], by_condition.setdefault(record.condition, []), [])
        rounds, own, shared, places = cells[key]
        if record.round in rounds:
            dropped["duplicate"] += 1  # the first one stands: a later one could be made to please
            continue
        rounds.add(record.round)
        places.append(len(kept))
        own.append(record)
        shared.append(record)
        kept.append(record)
    by_cell = {own[0].cell: own for _, own, _, _ in cells.values()}
    whole, broken = _blocks({own[0].cell: rounds for rounds, own, _, _ in cells.values()}, arms)
    return Counted(
        records=tuple(kept),
        whole=whole,
        broken=broken,
        dropped=dict(sorted((dropped + Counter(lost)).items())),  # adding leaves out what is zero
        by_cell=by_cell,
        by_condition=by_condition,
        places={own[0].cell: places for _, own, _, places in cells.values()},
    )


def _blocks(
    rounds: Mapping[Cell, set[int]], arms: Sequence[str]
) -> tuple[dict[Condition, set[int]], frozenset[Block]]:
    """Find the rounds of whole blocks, and the blocks that lack an arm."""
    whole: dict[Condition, set[int]] = {}
    broken: set[Block] = set()
    for condition in {cell.condition for cell in rounds}:
        per_arm = [rounds.get(Cell(arm, condition), set()) for arm in arms]
        whole[condition] = set.intersection(*per_arm)
        broken |= {(number, condition) for number in set.union(*per_arm) - whole[condition]}
    return whole, frozenset(broken)


def _why_not(record: TrialRecord) -> str:
    if record.discarded:
        return "warm-up"
    return "no pairs" if record.counts else record.status.value

"""The order of trials: a pure function from what is compared to the list of what will run.

Two arms follow the Thue-Morse sequence (AB BA BA AB BA AB AB BA): linear drift cancels after every even
round, quadratic drift after four, and the order is not tied to the parity of the round. More arms follow
Williams rows, each followed by its mirror image: after every even number of rounds all arms have the same
mean slot, and the full set is balanced for carry-over (Williams 1949).
"""

import hashlib
import random
from collections.abc import Mapping, Sequence

from abtest.model.names import Cell, Condition
from abtest.model.trial import PlannedTrial


def arm_order(arms: Sequence[str], round_number: int) -> tuple[str, ...]:
    """Order the arms of one round, counted from 1.

    >>> [" ".join(arm_order("AB", r)) for r in (1, 2, 3, 4)]
    ['A B', 'B A', 'B A', 'A B']
    """
    index = round_number - 1
    if len(arms) == 2:  # noqa: PLR2004 - two arms have an order of their own
        mirrored = index.bit_count() % 2 == 1
        return tuple(reversed(arms)) if mirrored else tuple(arms)
    rows = williams_rows(len(arms))
    return tuple(arms[place] for place in rows[index % len(rows)])


def williams_rows(count: int) -> tuple[tuple[int, ...], ...]:
    """Make Williams rows, each followed by its mirror: `count` of them if even, twice as many if odd.

    >>> williams_rows(3)
    ((0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1), (2, 0, 1), (1, 0, 2))
    """
    zigzag = ((step + 1) // 2 if step % 2 else count - step // 2 for step in range(1, count))
    first = [0, *zigzag]
    rows: list[tuple[int, ...]] = []
    for shift in range(count):
        row = tuple((place + shift) % count for place in first)
        for candidate in (row, row[::-1]):
            if candidate not in rows:
                rows.append(candidate)
    return tuple(rows)


def seed_of(name: str) -> int:
    """Derive the seed of an experiment from its name, so that a plan can be read again."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")


def condition_order(
    conditions: Sequence[Condition], round_number: int, seed: int
) -> tuple[Condition, ...]:
    """Order the conditions of a round: shuffled once, reversed on every second round."""
    order = list(conditions)
    random.Random(seed).shuffle(order)  # noqa: S311 - an order, not a secret
    return tuple(order if round_number % 2 else reversed(order))


def make_plan(
    arms: Sequence[str],
    conditions: Sequence[Condition],
    rounds: Sequence[int],
    *,
    seed: int,
    first_order: int = 1,
) -> tuple[PlannedTrial, ...]:
    """List every trial in order: one discarded warm-up per arm, then whole blocks.

    Args:
        arms: the baseline and its candidates, in the experiment's order.
        conditions: every condition is run once in each round.
        rounds: round numbers from 1; a rerun goes on where the earlier rounds ended.
        seed: for the order of conditions.
        first_order: number of the first trial, for a plan that continues another.
    """
    return plan_blocks(arms, dict.fromkeys(conditions, rounds), seed=seed, first_order=first_order)


def plan_blocks(
    arms: Sequence[str],
    rounds_of: Mapping[Condition, Sequence[int]],
    *,
    seed: int,
    first_order: int = 1,
    warm_up: bool = True,
) -> tuple[PlannedTrial, ...]:
    """List whole blocks, where each condition may need rounds of its own.

    Args:
        rounds_of: round numbers per condition, rising.
        warm_up: leave it out only where this machine has just run the same arms.
    """
    numbers = sorted({number for rounds in rounds_of.values() for number in rounds})
    if not numbers:
        return ()
    warm = min(condition for condition, rounds in rounds_of.items() if rounds)
    planned = [
        PlannedTrial(Cell(arm, warm), 0, slot, first_order + slot - 1, discarded=True)
        for slot, arm in enumerate(arm_order(arms, numbers[0]), start=1)
        if warm_up
    ]
    for number in numbers:
        wanted = [condition for condition, rounds in rounds_of.items() if number in rounds]
        for condition in condition_order(wanted, number, seed):
            for slot, arm in enumerate(arm_order(arms, number), start=1):
                planned.append(
                    PlannedTrial(Cell(arm, condition), number, slot, first_order + len(planned))
                )
    return tuple(planned)


def without(
    plan: Sequence[PlannedTrial], done: set[tuple[int, Condition]]
) -> tuple[PlannedTrial, ...]:
    """Drop the blocks that are done; nothing is left to warm up for when all of them are."""
    left = [trial for trial in plan if (trial.round, trial.cell.condition) not in done]
    return tuple(left) if any(not trial.discarded for trial in left) else ()


def blocks(plan: Sequence[PlannedTrial]) -> list[list[PlannedTrial]]:
    """Cut a plan into its blocks, in order; warm-up trials stand alone, one in a list."""
    found: list[list[PlannedTrial]] = []
    for trial in plan:
        last = found[-1][0] if found else None
        if (
            last is not None
            and not trial.discarded
            and not last.discarded
            and (last.round, last.cell.condition) == (trial.round, trial.cell.condition)
        ):
            found[-1].append(trial)
        else:
            found.append([trial])
    return found

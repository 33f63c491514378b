"""More rounds for a run that is open: whole blocks behind those that there are, and the looks that asked for them."""

import sys
from collections.abc import Mapping, Sequence

from abtest.cli.gating import Gates, with_gates
from abtest.cli.results import LOOK
from abtest.cli.session import Session
from abtest.cli.summary import summary_of
from abtest.ledger import store
from abtest.model.gate import Decision, GateResult
from abtest.model.names import Condition
from abtest.plan import plan_blocks, seed_of
from abtest.runner.resume import last_round, progress


def note_look(ready: Session, text: str) -> None:
    """Record a look in the ledger, from where every later summary prints it, and tell it now."""
    ready.ledger.note(LOOK + text)
    print(LOOK + text, file=sys.stderr)


def add_rounds(ready: Session, wanted: Mapping[Condition, int], *, warm_up: bool = True) -> bool:
    """Run more whole blocks, every arm in each, behind the rounds that there are.

    Args:
        wanted: how many whole blocks each condition shall have afterwards.
        warm_up: leave the discarded trials out only in a session that has just run.

    Returns:
        Whether all of them were run; False when none was wanted, or the time budget ended it.
    """
    contents = store.read(ready.ledger.folder)
    arms = tuple(ready.setup.experiment.arms)
    whole = progress(contents.standing, arms).whole
    ranges = {}
    for condition, count in wanted.items():
        have = sum(block[1] == condition for block in whole)
        first = last_round(contents.standing, condition) + 1
        ranges[condition] = range(first, first + max(0, count - have))
    plan = plan_blocks(
        arms,
        ranges,
        seed=seed_of(ready.setup.experiment.name),
        first_order=max((record.order for record in contents.records), default=0) + 1,
        warm_up=warm_up,
    )
    return bool(plan) and ready.run(plan, contents.standing)


def grow_for_gates(ready: Session, gates: Gates) -> None:
    """Add blocks until every gate is decided, or no look is left."""
    folder = ready.ledger.folder
    while True:
        found = with_gates(summary_of(folder)[0], folder, gates).gates
        wanted = _wanted(ready, found)
        if any(one.decision is Decision.UNPROVED for one in found):
            return
        if not add_rounds(ready, wanted, warm_up=False):
            return


def _wanted(ready: Session, found: Sequence[GateResult]) -> dict[Condition, int]:
    """Give the rounds of the next look per condition, and record the looks that ask for them."""
    wanted: dict[Condition, int] = {}
    for one in found:
        if one.next_rounds is None:
            continue
        condition = one.cell.condition
        wanted[condition] = max(one.next_rounds, wanted.get(condition, 0))
        if one.looks:
            note_look(
                ready,
                f"gate {one.gate} at {one.cell}, n = {one.looks[-1].rounds}: {one.decision.value}; "
                f"rounds added, to {one.next_rounds}",
            )
    return wanted

"""`--dry-run`: the order of trials, and how long they took when they last ran here."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from abtest.cli import results
from abtest.errors import AbtestError
from abtest.ledger import store
from abtest.model.names import Cell
from abtest.model.trial import PlannedTrial
from abtest.plan import blocks
from abtest.spec import Experiment


def dry_run_text(experiment: Experiment, plan: Sequence[PlannedTrial], root: Path) -> str:
    """Write the plan, one block per line, and an estimate of its time."""
    lines = [
        f"experiment: {experiment.name}  target: {experiment.target}  runtime: {experiment.runtime}",
        f"arms: {', '.join(experiment.arms)} (baseline {experiment.baseline})",
        f"trials: {len(plan)}, each in a fresh sandbox",
    ]
    for block in blocks(plan):
        first = block[0]
        kind = "warm-up, discarded" if first.discarded else f"round {first.round}"
        cells = "  ".join(str(trial.cell) for trial in block)
        lines.append(f"{first.order:>4}  {kind:<18}  {cells}")
    lines.append(_estimate(experiment, plan, root))
    return "\n".join(lines) + "\n"


def _estimate(experiment: Experiment, plan: Sequence[PlannedTrial], root: Path) -> str:
    seconds = _seconds_by_cell(experiment.name, root)
    known = [seconds.get(trial.cell) for trial in plan]
    if not known or any(value is None for value in known):
        most_s = len(plan) * experiment.limits.trial_s
        return f"estimate: not known before a first run here; at most {len(plan)} x {experiment.limits.trial_s:g} s = {most_s:g} s"
    total_s = sum(value for value in known if value is not None)
    return f"estimate: about {total_s:.0f} s, from the last run of {experiment.name} here"


def _seconds_by_cell(name: str, root: Path) -> dict[Cell, float]:
    """Read the median trial time per cell from the newest run of the same experiment."""
    newest = sorted(
        root.glob(f"{name}-*/{store.RUN}"), key=lambda path: path.stat().st_mtime, reverse=True
    )
    for path in newest:
        try:
            if results.read_run(path.parent).isolation == "simulated":
                continue
            records = store.read(path.parent).records
        except AbtestError:
            continue  # a damaged run gives no estimate; it is reported when it is used
        times: dict[Cell, list[float]] = defaultdict(list)
        for record in records:
            if record.pairs:
                times[record.cell].append(sum(record.phases_s.values()))
        if times:
            return {cell: statistics.median(values) for cell, values in times.items()}
    return {}

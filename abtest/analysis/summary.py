"""The whole summary of a run: a pure function of its records."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from abtest.analysis import differences, findings, machine, power, proof
from abtest.analysis.cells import summarize_cell
from abtest.analysis.columns import Estimates
from abtest.analysis.comparison import compare
from abtest.analysis.counting import Counted, count
from abtest.analysis.depth import trends
from abtest.model.flag import Flag
from abtest.model.names import Cell, Condition
from abtest.model.result import CellSummary, Difference, Summary
from abtest.model.trial import Status, TrialRecord


def summarize(
    records: Sequence[TrialRecord],
    *,
    run: str,
    experiment: str,
    baseline: str,
    arms: Sequence[str],
    declared: Sequence[Difference] = (),
    rounds: tuple[int, int] | None = None,
    superseded: int = 0,
    unreadable: int = 0,
    same_routes: bool = False,
) -> Summary:
    """Summarise the standing records of one run.

    Args:
        records: without superseded ones, in time order.
        declared: what the arms are declared to differ in.
        rounds: count only rounds from the first to the second of these, both included.
        superseded: how many records of the ledger later ones replaced; only counted.
        unreadable: how many of its lines are no records; only counted.
        same_routes: equal routes are what is wanted, as where a slow-down was planted in one and the same kernel.
    """
    chosen = [
        record for record in records if rounds is None or rounds[0] <= record.round <= rounds[1]
    ]
    counted = count(chosen, arms, {"superseded": superseded, "unreadable lines": unreadable})
    facts = differences.facts_by_arm(counted.records)
    present = {record.arm for record in counted.records}
    seen = differences.observed(facts, [arm for arm in arms if arm in present])
    cells = _cells(chosen, counted, arms)
    identity = proof.identity(counted.records)
    routes_differ = bool(declared) and not same_routes
    imported = identity == proof.IMPORTED
    run_flags = (
        *findings.of_run(
            counted, arms, declared, seen, facts, identity=identity, routes_differ=routes_differ
        ),
        *(() if imported else findings.incomplete(counted, cells)),
        *findings.of_machine(chosen, counted, cells),
    )
    by_condition = findings.of_conditions(
        chosen,
        counted,
        [arm for arm in arms if arm != baseline],
        baseline,
        routes_differ=routes_differ,
    )
    return Summary(
        run=run,
        experiment=experiment,
        baseline=baseline,
        arms=tuple(arms),
        isolation=proof.isolation(counted.records or chosen),
        identity=identity,
        image=proof.image(counted.records),
        cells=tuple(cells.values()),
        effects=compare(
            cells,
            baseline,
            counted,
            run_flags,
            _unsaid(by_condition, run_flags),
            imported=imported,
        ),
        depth=power.with_cache(trends(tuple(cells.values())), counted.records),
        declared_difference=tuple(declared),
        observed_difference=seen,
        order=_order(counted),
        flags=run_flags,
        dropped=counted.dropped,
    )


def _unsaid(
    found: Mapping[Condition, tuple[Flag, ...]], run_flags: Sequence[Flag]
) -> dict[Condition, tuple[Flag, ...]]:
    """Leave out what the whole run says already."""
    said = {one.name for one in run_flags}
    return {
        condition: tuple(one for one in flags if one.name not in said)
        for condition, flags in found.items()
    }


def _cells(
    chosen: Sequence[TrialRecord], counted: Counted, arms: Sequence[str]
) -> dict[Cell, CellSummary]:
    estimates = Estimates(counted)
    voids = Counter(record.cell for record in chosen if record.status is Status.VOID)
    usual_s = machine.usual_gap_s(counted.records)
    seen = {(record.depth, record.batch) for record in chosen if not record.discarded}
    conditions = [Condition(*one) for one in sorted(seen)]
    return {
        cell: _with_flags(
            summarize_cell(cell, counted.by_cell.get(cell, ()), estimates.of(cell), voids[cell]),
            tuple(machine.of_cell(cell, counted.by_cell.get(cell, ()), usual_s)),
        )
        for condition in conditions
        for arm in arms
        for cell in (Cell(arm, condition),)
    }


def _with_flags(summary: CellSummary, more: tuple[Flag, ...]) -> CellSummary:
    return replace(summary, flags=(*summary.flags, *more)) if more else summary


def _order(counted: Counted) -> tuple[tuple[str, ...], ...]:
    """Give the arms in the order in which they ran, per round, at the condition with the most rounds."""
    longest = max(
        counted.by_condition.values(),
        key=lambda records: len({record.round for record in records}),
        default=(),
    )
    rounds: dict[int, list[TrialRecord]] = defaultdict(list)
    for record in longest:
        rounds[record.round].append(record)
    return tuple(
        tuple(record.arm for record in sorted(rounds[number], key=lambda record: record.slot))
        for number in sorted(rounds)
    )

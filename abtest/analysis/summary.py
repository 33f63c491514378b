"""The whole summary of a run: a pure function of its records."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from abtest.analysis import differences, effects
from abtest.analysis.cells import summarize_cell
from abtest.analysis.explain import flag
from abtest.analysis.verdict import DISTURBED, verdict
from abtest.model.flag import Flag
from abtest.model.names import Cell, Condition
from abtest.model.result import CellSummary, Difference, Effect, Interval, Summary, Verdict
from abtest.model.trial import Status, TrialRecord

PROVED = "proved"
NOT_PROVED = "not proved"


def summarize(
    records: Sequence[TrialRecord],
    *,
    run: str,
    experiment: str,
    baseline: str,
    arms: Sequence[str],
    declared: Sequence[Difference] = (),
    rounds: tuple[int, int] | None = None,
) -> Summary:
    """Summarise the standing records of one run.

    Args:
        records: without superseded ones, in file order.
        declared: what the arms are declared to differ in.
        rounds: count only rounds from the first to the second of these, both included.
    """
    chosen = [
        record for record in records if rounds is None or rounds[0] <= record.round <= rounds[1]
    ]
    counted = [record for record in chosen if record.counts]
    identity = _identity(counted)
    seen = differences.observed(counted, arms)
    cells = _cells(chosen, counted, arms)
    run_flags = (
        *_run_flags(counted, arms, declared, seen, identity),
        *_incomplete(counted, arms, cells),
    )
    return Summary(
        run=run,
        experiment=experiment,
        baseline=baseline,
        arms=tuple(arms),
        isolation=_isolation(chosen),
        identity=identity,
        cells=tuple(cells.values()),
        effects=_effects(counted, cells, baseline, arms, run_flags),
        declared_difference=tuple(declared),
        observed_difference=seen,
        order=_order(counted),
        flags=run_flags,
        dropped=_dropped(chosen),
    )


def _isolation(records: Sequence[TrialRecord]) -> str:
    kinds = sorted({record.isolation for record in records})
    return "+".join(kinds) or "unknown"


def _identity(counted: Sequence[TrialRecord]) -> str:
    """Every counted record must carry a matching answer of every rank, before and after."""
    return PROVED if counted and all(_is_proved(record) for record in counted) else NOT_PROVED


def _is_proved(record: TrialRecord) -> bool:
    ranks = int(record.environment.get("engine.tensor_parallel", "0") or 0)
    said = {(entry.rank, entry.when) for entry in record.identity if entry.match}
    return ranks > 0 and said == {
        (rank, when) for rank in range(ranks) for when in ("before", "after")
    }


def _cells(
    chosen: Sequence[TrialRecord], counted: Sequence[TrialRecord], arms: Sequence[str]
) -> dict[Cell, CellSummary]:
    by_cell: dict[Cell, list[TrialRecord]] = defaultdict(list)
    for record in counted:
        by_cell[record.cell].append(record)
    voids = Counter(record.cell for record in chosen if record.status is Status.VOID)
    conditions = sorted({record.condition for record in chosen})
    return {
        cell: summarize_cell(cell, by_cell.get(cell, []), voids[cell])
        for condition in conditions
        for arm in arms
        for cell in (Cell(arm, condition),)
    }


def _run_flags(
    counted: Sequence[TrialRecord],
    arms: Sequence[str],
    declared: Sequence[Difference],
    seen: Sequence[Difference],
    identity: str,
) -> tuple[Flag, ...]:
    found: list[Flag] = []
    if counted and identity == NOT_PROVED:
        found.append(flag("not-proved", "run", "a counted trial lacks the answer of a rank"))
    if differences.routes_equal(counted, arms):
        route = next(iter(next(iter(differences.decode_routes(counted).values()))))
        found.append(
            flag("routes-equal", "run", ", ".join(f"{name}={value}" for name, value in route))
        )
    stray = differences.undeclared(declared, seen)
    if stray:
        found.append(flag("undeclared-difference", "run", ", ".join(stray)))
    changed = differences.changed_within(counted)
    if changed:
        found.append(flag("environment-changed", "run", ", ".join(changed[:5])))
    kinds = {record.isolation for record in counted}
    found += [flag("isolation-process", "run", "no containers")] if "process" in kinds else []
    found += [flag("simulated", "run", "no measurement")] if "simulated" in kinds else []
    differing = sorted(
        condition
        for condition in {record.condition for record in counted}
        if differences.outputs_differ(
            [record for record in counted if record.condition == condition]
        )
    )
    if differing:
        found.append(flag("outputs-differ", "run", f"at {', '.join(map(str, differing))}"))
    return tuple(found)


def _incomplete(
    counted: Sequence[TrialRecord], arms: Sequence[str], cells: dict[Cell, CellSummary]
) -> tuple[Flag, ...]:
    """Count blocks that lack an arm: their records do not enter the effects."""
    found: dict[tuple[int, Condition], set[str]] = defaultdict(set)
    for record in counted:
        found[record.round, record.condition].add(record.arm)
    broken = sum(members != set(arms) for members in found.values())
    empty = [str(cell) for cell, summary in cells.items() if summary.n == 0]
    figures = [f"{broken} blocks without every arm"] if broken else []
    figures += [f"no good trial of {', '.join(empty)}"] if empty else []
    return (flag("incomplete", "run", "; ".join(figures)),) if figures else ()


def _effects(
    counted: Sequence[TrialRecord],
    cells: dict[Cell, CellSummary],
    baseline: str,
    arms: Sequence[str],
    run_flags: Sequence[Flag],
) -> tuple[Effect, ...]:
    firsts = _first_in_block(counted, baseline)
    conditions = sorted({cell.condition for cell in cells})
    return tuple(
        _effect(cells, Cell(baseline, condition), Cell(arm, condition), firsts, run_flags)
        for condition in conditions
        for arm in arms
        if arm != baseline
    )


def _effect(
    cells: dict[Cell, CellSummary],
    base_cell: Cell,
    cell: Cell,
    firsts: dict[tuple[int, Cell], bool],
    run_flags: Sequence[Flag],
) -> Effect:
    old = dict(zip(cells[base_cell].rounds, cells[base_cell].rates_tok_s, strict=True))
    new = dict(zip(cells[cell].rounds, cells[cell].rates_tok_s, strict=True))
    shared = sorted(old.keys() & new.keys())
    own = (*run_flags, *cells[base_cell].flags, *cells[cell].flags)
    blocked = {flag.name for flag in own} & {
        "routes-equal",
        "not-proved",
        "undeclared-difference",
        "drowned",
    }
    if not shared or blocked:
        result = Verdict.INVALID if "not-proved" in blocked else Verdict.INCONCLUSIVE
        return Effect(base_cell.arm, cell.arm, cell.condition, None, None, result)
    base, candidate = [old[number] for number in shared], [new[number] for number in shared]
    interval = _interval(base, candidate, [firsts[number, cell] for number in shared], own)
    return Effect(
        base_cell.arm,
        cell.arm,
        cell.condition,
        effects.speedup(base, candidate),
        interval,
        verdict(interval, own),
    )


def _interval(
    base: Sequence[float], candidate: Sequence[float], first: Sequence[bool], flags: Sequence[Flag]
) -> Interval | None:
    """Use the range of all ratios where a cell is disturbed: a t interval would assume what was just doubted."""
    if len(base) > 1 and {flag.name for flag in flags} & DISTURBED:
        return effects.extremes(base, candidate)
    return effects.interval(base, candidate, first)


def _first_in_block(counted: Sequence[TrialRecord], baseline: str) -> dict[tuple[int, Cell], bool]:
    """Tell for every counted trial whether it ran before its block's baseline, by the recorded slots."""
    base = {
        (record.round, record.condition): record.slot
        for record in counted
        if record.arm == baseline
    }
    return {
        (record.round, record.cell): record.slot < base.get((record.round, record.condition), 0)
        for record in counted
    }


def _order(counted: Sequence[TrialRecord]) -> tuple[tuple[str, ...], ...]:
    """Give the arms in the order in which they ran, per round, at the condition with the most rounds."""
    by_condition: dict[Condition, dict[int, list[TrialRecord]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in counted:
        by_condition[record.condition][record.round].append(record)
    if not by_condition:
        return ()
    rounds = max(by_condition.values(), key=len)
    return tuple(
        tuple(record.arm for record in sorted(rounds[number], key=lambda record: record.slot))
        for number in sorted(rounds)
    )


def _dropped(chosen: Sequence[TrialRecord]) -> dict[str, int]:
    counts = Counter("warm-up" if record.discarded else record.status.value for record in chosen)
    return {name: count for name, count in sorted(counts.items()) if name != "ok"}

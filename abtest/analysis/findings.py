"""Flags of a whole run, and of one condition: what was proved, declared, observed and decoded."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from abtest.analysis import confounds, differences, kernels, machine, power, proof, trial_flags
from abtest.analysis.counting import Counted
from abtest.analysis.explain import flag
from abtest.model.flag import Flag
from abtest.model.names import Cell, Condition
from abtest.model.result import CellSummary, Difference
from abtest.model.trial import Status, TrialRecord

SHOWN = 5  # facts named in one flag; a changed machine changes dozens
KINDS = {
    "process": ("isolation-process", "isolation process"),
    "simulated": ("simulated", "isolation simulated"),
    "imported": ("imported", "isolation imported"),
}


def of_run(
    counted: Counted,
    arms: Sequence[str],
    declared: Sequence[Difference],
    seen: Sequence[Difference],
    facts: differences.Facts,
    *,
    identity: str,
    routes_differ: bool,
) -> Iterator[Flag]:
    """Find what bears on every effect.

    Args:
        routes_differ: whether the arms should take different routes; those of an A/A run or a control should not.
    """
    records = counted.records
    if records and identity == proof.NOT_PROVED:
        lacking = sum(not proof.is_proved(record) for record in records)
        yield flag(
            "not-proved", "run", f"{lacking} of {len(records)} trials lack the answer of a rank"
        )
    if (
        routes_differ
        and records
        and all(differences.routes_equal(one, arms) for one in counted.by_condition.values())
    ):
        yield flag("routes-equal", "run", _route(records, arms[0]))
    for name, found in (
        ("undeclared-difference", differences.undeclared(declared, seen)),
        ("declared-not-observed", differences.unseen(declared, seen, facts)),
        ("environment-changed", differences.changed_within(facts)),
    ):
        if found:
            yield flag(name, "run", _list(found))
    yield from _said_by_trials(records)
    for kind in sorted({record.isolation for record in records} & KINDS.keys()):
        name, figures = KINDS[kind]
        yield flag(name, "run", figures)


def _said_by_trials(records: Sequence[TrialRecord]) -> Iterator[Flag]:
    """Lift what trials say of themselves into the run, with how many say it and in which arms."""
    said: dict[str, list[str]] = defaultdict(list)
    for record in records:
        if not record.flags:
            continue
        for name in {text.partition(":")[0] for text in record.flags} - trial_flags.OF_CONDITION:
            said[name].append(record.arm)
    for name, arms in sorted(said.items()):
        where = _list(sorted(set(arms)))
        yield flag(name, "run", f"{len(arms)} of {len(records)} trials ({where})")


def of_conditions(
    chosen: Sequence[TrialRecord],
    counted: Counted,
    candidates: Sequence[str],
    baseline: str,
    *,
    routes_differ: bool,
) -> dict[Condition, tuple[Flag, ...]]:
    """Find what bears on the effects of one condition, or (`where` is a cell) of one candidate there.

    Args:
        routes_differ: whether the arms should take different routes.
    """
    groups = counted.by_condition
    invalid: dict[Condition, list[TrialRecord]] = defaultdict(list)
    for one in chosen:
        if one.status is Status.INVALID and not one.discarded:
            invalid[one.condition].append(one)
    bound = list(kernels.of_conditions(counted.records))
    found: dict[Condition, tuple[Flag, ...]] = {}
    for condition in sorted(groups.keys() | invalid.keys()):
        records = groups.get(condition, [])
        found[condition] = (
            *_invalid(str(condition), invalid.get(condition, [])),
            *(_equal_routes(records, baseline, candidates) if routes_differ else ()),
            *_outputs(str(condition), records),
            *trial_flags.of_condition(condition, records),
            *(one for one in bound if one.where == str(condition)),
        )
    return found


def _invalid(where: str, records: Sequence[TrialRecord]) -> Iterator[Flag]:
    if records:
        reasons = Counter((record.reason or "no reason").partition(":")[0] for record in records)
        yield flag("invalid-trials", where, _list([f"{n} {name}" for name, n in reasons.items()]))


def _outputs(where: str, records: Sequence[TrialRecord]) -> Iterator[Flag]:
    if differences.outputs_differ(records):
        yield flag("outputs-differ", where, "one hash per arm, not the same")


def of_machine(
    chosen: Sequence[TrialRecord], counted: Counted, cells: Mapping[Cell, CellSummary]
) -> Iterator[Flag]:
    """Find what the machine did to the whole run."""
    yield from machine.voids(chosen)
    yield from machine.links(counted.records)
    yield from confounds.correlations(counted, cells)
    yield from power.findings(counted.records)


def incomplete(counted: Counted, cells: Mapping[Cell, CellSummary]) -> Iterator[Flag]:
    """Count blocks that lack an arm: their records do not enter the effects."""
    empty = [str(summary.cell) for summary in cells.values() if summary.n == 0]
    figures = [f"{len(counted.broken)} blocks without every arm"] if counted.broken else []
    figures += [f"no good trial of {_list(empty)}"] if empty else []
    if figures:
        yield flag("incomplete", "run", "; ".join(figures))


def _equal_routes(
    records: Sequence[TrialRecord], baseline: str, candidates: Sequence[str]
) -> Iterator[Flag]:
    """Look at each candidate by itself: another candidate's new route does not excuse this one."""
    routes = differences.decode_routes(records)
    launched = differences.decode_kernels(records)
    for arm in candidates:
        same = arm in routes and routes[arm] == routes.get(baseline)
        if same and launched[arm] == launched.get(baseline):
            where = str(Cell(arm, records[0].condition))
            yield flag("routes-equal", where, _route(records, arm))


def _route(records: Sequence[TrialRecord], arm: str) -> str:
    routes = differences.decode_routes(records)[arm]
    return "; ".join(
        ", ".join(f"{name}={value}" for name, value in route) for route in sorted(routes)
    )


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more

"""What the arms are observed to differ in, and whether that is what they declare."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from abtest.model.result import Difference
from abtest.model.trial import TrialRecord

MIXED = "varies"


def facts_by_arm(records: Sequence[TrialRecord]) -> dict[str, dict[str, set[str]]]:
    """Collect every observed fact, per arm: fact -> arm -> the values that were seen."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        for name, value in _facts(record):
            found[name][record.arm].add(value)
    return found


def _facts(record: TrialRecord) -> Iterable[tuple[str, str]]:
    for entry in record.identity:
        yield f"file {entry.target}", f"md5 {entry.md5[:8]}"
    yield from record.environment.items()
    if record.container is not None:
        yield "container image", record.container.image_id


def observed(records: Sequence[TrialRecord], arms: Sequence[str]) -> tuple[Difference, ...]:
    """List the facts that are not the same in all arms."""
    differences = []
    for name, by_arm in sorted(facts_by_arm(records).items()):
        values = {arm: _one(by_arm.get(arm, set())) for arm in arms if _ran(records, arm)}
        if len(set(values.values())) > 1:
            differences.append(Difference(name, values))
    return tuple(differences)


def changed_within(records: Sequence[TrialRecord]) -> list[str]:
    """Name the facts that changed between trials of one arm."""
    return sorted(
        f"{name} ({arm})"
        for name, by_arm in facts_by_arm(records).items()
        for arm, values in by_arm.items()
        if len(values) > 1
    )


def undeclared(declared: Sequence[Difference], seen: Sequence[Difference]) -> list[str]:
    """Name observed differences that no declaration covers."""
    allowed = {difference.what for difference in declared}
    return [difference.what for difference in seen if _kind(difference.what) not in allowed]


def unseen(declared: Sequence[Difference], seen: Sequence[Difference]) -> list[str]:
    """Name declared differences that were not observed in any trial."""
    kinds = {_kind(difference.what) for difference in seen}
    return [difference.what for difference in declared if difference.what not in kinds]


def _kind(what: str) -> str:
    if what.startswith("file "):
        return "file"
    if what.startswith("env."):
        return "env"
    return "args" if what == "engine.args" else what


def _one(values: set[str]) -> str:
    return next(iter(values)) if len(values) == 1 else MIXED if values else "-"


def _ran(records: Sequence[TrialRecord], arm: str) -> bool:
    return any(record.arm == arm for record in records)


def decode_routes(
    records: Sequence[TrialRecord],
) -> Mapping[str, frozenset[tuple[tuple[str, str], ...]]]:
    """Collect the decode routes of each arm, whatever the rank; empty where none were recorded."""
    found: dict[str, set[tuple[tuple[str, str], ...]]] = defaultdict(set)
    for record in records:
        for route in record.routes:
            if route.phase == "decode":
                found[record.arm].add(
                    tuple(sorted((name, str(value)) for name, value in route.values.items()))
                )
    return {arm: frozenset(routes) for arm, routes in found.items()}


def routes_equal(records: Sequence[TrialRecord], arms: Sequence[str]) -> bool:
    """Tell whether routes were recorded in every arm and are the same in all of them."""
    routes = decode_routes(records)
    return len(routes) == len(set(arms)) > 1 and len(set(routes.values())) == 1


def outputs_differ(records: Sequence[TrialRecord]) -> bool:
    """Tell whether each arm repeats its own tokens at this condition, but the arms do not agree."""
    hashes: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if record.outputs is not None:
            hashes[record.arm].add(record.outputs.sha256)
    return (
        all(len(values) == 1 for values in hashes.values())
        and len(set.union(set(), *hashes.values())) > 1
    )

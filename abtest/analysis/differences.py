"""What the arms are observed to differ in, and whether that is what they declare."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from abtest.model.result import Difference
from abtest.model.trial import RouteCount, TrialRecord

MIXED = "varies"
ABSENT = "-"
RESOLVED = "what the engine made of it"  # backends, graphs, formats: they follow from arguments and variables
BROUGHT_BY = {  # what comes with a declared difference
    "image": ("argv", "distributions", "env", "os_release", "python", "engine.version", RESOLVED),
    "args": (RESOLVED,),
    "env": (RESOLVED,),
}
PLAIN = ("engine.kind", "engine.tensor_parallel", "engine.version")


Facts = dict[str, dict[str, set[str]]]


def facts_by_arm(records: Sequence[TrialRecord]) -> Facts:
    """Collect every observed fact: fact -> arm -> the values that were seen."""
    distinct: dict[tuple[str, frozenset[tuple[str, str]]], None] = {}
    # Trials of one arm say the same thing thousands of times; only what is new is looked into.
    for record in {
        (one.arm, id(one.identity), id(one.environment), id(one.container), one.cache_policy): one
        for one in records
    }.values():
        distinct[record.arm, frozenset(_facts(record))] = None
    found: Facts = defaultdict(lambda: defaultdict(set))
    said: dict[str, list[set[str]]] = defaultdict(list)
    for arm, facts in distinct:
        said[arm].append({name for name, _ in facts})
        for name, value in facts:
            found[name][arm].add(value)
    _mark_absent(found, said)
    return found


def _mark_absent(found: Facts, said: Mapping[str, Sequence[set[str]]]) -> None:
    """Note facts that only some trials of an arm have: a variable that is set now and then is a change."""
    for arm, all_names in said.items():
        everything, always = set().union(*all_names), all_names[0].intersection(*all_names[1:])
        for name in everything - always:
            found[name][arm].add(ABSENT)


def _facts(record: TrialRecord) -> Iterable[tuple[str, str]]:
    for entry in record.identity:
        yield f"file {entry.target}", f"md5 {entry.md5[:8]}"
    yield from record.environment.items()
    # Of kept caches only the policy: their keys and contents are different for every arm, and grow with every trial.
    conditions = {
        "host": record.host,
        "isolation": record.isolation,
        "caches": record.cache_policy,
    }
    yield from ((name, value) for name, value in conditions.items() if value is not None)
    if record.container is not None:
        yield "image", record.container.image_id


def observed(facts: Facts, arms: Sequence[str]) -> tuple[Difference, ...]:
    """List the facts that are not the same in all arms that ran.

    Args:
        arms: those with a counted record, in the experiment's order.
    """
    differences = []
    for name, by_arm in sorted(facts.items()):
        values = {arm: _one(by_arm.get(arm, set())) for arm in arms}
        if len(set(values.values())) > 1:
            differences.append(Difference(name, values))
    return tuple(differences)


def changed_within(facts: Facts) -> list[str]:
    """Name the facts that changed between trials of one arm."""
    return sorted(
        f"{name} ({arm})"
        for name, by_arm in facts.items()
        for arm, values in by_arm.items()
        if len(values) > 1
    )


def undeclared(declared: Sequence[Difference], seen: Sequence[Difference]) -> list[str]:
    """Name observed differences that no declaration covers."""
    allowed = {difference.what for difference in declared}
    allowed |= {kind for what in tuple(allowed) for kind in BROUGHT_BY.get(what, ())}
    return [
        difference.what
        for difference in seen
        if _kind(difference.what) not in allowed
        and difference.what.partition(".")[0] not in allowed
    ]


def unseen(declared: Sequence[Difference], seen: Sequence[Difference], facts: Facts) -> list[str]:
    """Name declared differences that the records could show and do not: the change never arrived.

    One arm alone can show no difference, so nothing is said of it.
    """
    if len({arm for by_arm in facts.values() for arm in by_arm}) < 2:  # noqa: PLR2004 - a difference is of two
        return []
    kinds = {_kind(difference.what) for difference in seen}
    recordable = {_kind(name) for name in facts}
    return [
        difference.what
        for difference in declared
        if difference.what in recordable and difference.what not in kinds
    ]


def _kind(what: str) -> str:
    if what.startswith("file "):
        return "file"
    if what == "engine.args":
        return "args"
    return RESOLVED if what.startswith("engine.") and what not in PLAIN else what


def _one(values: set[str]) -> str:
    return next(iter(values)) if len(values) == 1 else MIXED if values else ABSENT


Route = tuple[tuple[str, str], ...]


def decode_routes(
    records: Sequence[TrialRecord],
) -> Mapping[str, frozenset[Route]]:
    """Collect the decode routes of each arm, whatever the rank; empty where none were recorded."""
    found: dict[str, set[Route]] = defaultdict(set)
    same = {(one.arm, id(one.routes), bool(one.kernels)): one for one in records}
    for record in same.values():
        for route in _deciding(record):
            found[record.arm].add(
                tuple(sorted((name, str(value)) for name, value in route.values.items()))
            )
    return {arm: frozenset(routes) for arm, routes in found.items()}


def _deciding(record: TrialRecord) -> list[RouteCount]:
    """Choose the records of decode steps; where these replay graphs, those of the capture, beside a profile."""
    decode = [route for route in record.routes if route.phase == "decode"]
    if decode or not record.kernels:
        return decode
    return [route for route in record.routes if route.phase == "capture"]


def decode_kernels(records: Sequence[TrialRecord]) -> Mapping[str, frozenset[str]]:
    """Collect the names of the kernels that each arm's decode steps launched; empty without profiles."""
    found: dict[str, set[str]] = defaultdict(set)
    for record in records:
        names = found[record.arm]
        if record.kernels:
            names.update(row.name for row in record.kernels)
    return {arm: frozenset(names) for arm, names in found.items()}


def routes_equal(records: Sequence[TrialRecord], arms: Sequence[str]) -> bool:
    """Tell whether decode routes were recorded in every arm and are the same in all of them.

    Arms whose steps launched other kernels took other routes, whatever the recorded names say.
    """
    routes = decode_routes(records)
    same = len(routes) == len(set(arms)) > 1 and len(set(routes.values())) == 1
    return same and len(set(decode_kernels(records).values())) == 1


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

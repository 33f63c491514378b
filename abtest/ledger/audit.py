"""Whether a run's folder is what it was when it was written: each finding names its place."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from abtest.ledger import store
from abtest.ledger.store import TRIALS, Contents
from abtest.model.names import Condition
from abtest.model.trial import TrialRecord

REPORT = "trial.json"  # what the probe said; a record's pairs are copied from it
IMPORTED = "imported"
UNMEASURED = frozenset({"simulated", IMPORTED})  # nothing ran here, so nothing could be proved


def audit(folder: Path, proved: Callable[[TrialRecord], bool]) -> tuple[str, ...]:
    """Look for what a sound run's folder does not have; empty where all is well.

    Args:
        proved: whether a trial carries the matching answer of every rank, before and after timing.

    Raises:
        UsageError: the folder holds no run.
        LedgerError: `run.json` is damaged.
    """
    run = store.read_run(folder)
    contents = store.read(folder)
    return (
        *_lines(contents),
        *_doubles(contents),
        *_strangers(run, contents),
        *_blocks(run, contents.standing),
        *sidecars(folder, contents.records),
        *(text for one in contents.standing for text in _identity(run, one, proved)),
    )


def _lines(contents: Contents) -> Iterator[str]:
    yield from (f"{store.LEDGER}: {fault}" for fault in (*contents.faults, *contents.altered))
    if contents.torn is not None:
        yield f"{store.LEDGER}: the last line is torn: {contents.torn[:80]!r}"


def _doubles(contents: Contents) -> Iterator[str]:
    names = Counter(one.trial for one in contents.records)
    yield from (f"trial {name}: {n} records bear this name" for name, n in names.items() if n > 1)
    yield from (
        f"trial {name}: marked superseded, and there is no record of it"
        for name in sorted(contents.superseded - names.keys())
    )
    places = defaultdict(list)
    for one in contents.standing:
        if one.counts:
            places[one.round, one.cell].append(one.trial)
    for (number, cell), trials in places.items():
        if len(trials) > 1:
            yield f"{cell} round {number}: counted twice, by {', '.join(trials)}"


def _strangers(run: Mapping[str, Any], contents: Contents) -> Iterator[str]:
    """Find records of another run or of another set-up."""
    for one in contents.records:
        if one.run != run.get("run"):
            yield f"trial {one.trial}: is of run {one.run}, not of {run.get('run')}"
        if one.spec_sha256 != run.get("spec_sha256"):
            yield f"trial {one.trial}: measured under another specification ({one.spec_sha256[:12]})"


def _blocks(run: Mapping[str, Any], standing: Sequence[TrialRecord]) -> Iterator[str]:
    """Find blocks that were begun and lack an arm; a block that never began is no fault of the record.

    Foreign figures may hold rounds of one arm alone: they were never begun as blocks here.
    """
    arms = set(run.get("arms") or ())
    blocks: dict[tuple[Condition, int], set[str]] = defaultdict(set)
    for one in standing:
        if not one.discarded and one.isolation != IMPORTED:
            blocks[one.condition, one.round] |= {one.arm} if one.counts else set()
    for (condition, number), present in sorted(blocks.items()):
        if missing := sorted(arms - present):
            yield f"block {condition} round {number}: no counted trial of {', '.join(missing)}"


def sidecars(folder: Path, records: Iterable[TrialRecord]) -> Iterator[str]:
    """Find files beside the ledger that are not those which were recorded."""
    return (text for one in records for text in _sidecars(folder / TRIALS, one))


def _sidecars(trials: Path, one: TrialRecord) -> Iterator[str]:
    """Compare each file beside the ledger with the hash that the record took of it."""
    for name, expected in one.files.items():
        if Path(name).name != name or Path(one.trial).name != one.trial:
            yield f"trial {one.trial}: {name!r} is no name of a file of this trial"
            continue
        path = trials / one.trial / name
        if path.is_symlink() or not path.is_file():
            yield f"trial {one.trial}: {name} is missing"
            continue
        raw = path.read_bytes()
        if hashlib.sha256(raw).hexdigest() != expected:
            yield f"trial {one.trial}: {name} is not the file that was recorded"
        elif name == REPORT and not _same_pairs(raw, one):
            yield f"trial {one.trial}: the pairs in the ledger are not those in {name}"


def _same_pairs(raw: bytes, one: TrialRecord) -> bool:
    try:
        said = json.loads(raw)["pairs"]
        found = [(pair["t_short_s"], pair["t_long_s"], pair["first"]) for pair in said]
    except (ValueError, KeyError, TypeError, RecursionError):
        return not one.pairs  # a report without pairs stands beside a record without them
    return found == [(pair.t_short_s, pair.t_long_s, pair.first) for pair in one.pairs]


def _identity(
    run: Mapping[str, Any], one: TrialRecord, proved: Callable[[TrialRecord], bool]
) -> Iterator[str]:
    if not one.counts or one.isolation in UNMEASURED:
        return
    if not proved(one):
        yield f"trial {one.trial}: not every rank showed the code that it ran, before and after timing"
    ran = {rank.sha256 for rank in one.identity}
    for file in ((run.get("arms") or {}).get(one.arm) or {}).get("files") or ():
        if ran and file["sha256"] not in ran:
            yield f"trial {one.trial}: no rank ran {file['target']} as arm {one.arm} has it"
    body = json.dumps(dict(one.environment), sort_keys=True).encode()
    if one.environment and hashlib.sha256(body).hexdigest() != one.environment_sha256:
        yield f"trial {one.trial}: the environment is not the one that was hashed"

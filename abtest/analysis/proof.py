"""Whether the code that ran is proved for every counted record, and what the records ran in."""

from collections import defaultdict
from collections.abc import Sequence

from abtest.model.trial import TrialRecord

PROVED = "proved"
NOT_PROVED = "not proved"
IMPORTED = "imported"
SIMULATED = "simulated"
WHEN = ("before", "after")
SHORT_ID = 12


def identity(counted: Sequence[TrialRecord]) -> str:
    """Say "proved" only if every record carries a matching answer of every rank, before and after timing."""
    if any(record.isolation == IMPORTED for record in counted):
        return IMPORTED
    if any(record.isolation == SIMULATED for record in counted):
        return SIMULATED  # nothing ran, so nothing can be proved
    # Records that share their parts say the same; one of them is looked into.
    distinct = {(id(record.identity), id(record.environment)): record for record in counted}
    return PROVED if counted and all(map(is_proved, distinct.values())) else NOT_PROVED


def is_proved(record: TrialRecord) -> bool:
    """Tell whether all ranks spoke twice for each target; one answer that does not match spoils the trial."""
    ranks = record.environment.get("engine.tensor_parallel", "")
    if not ranks.isdecimal() or not record.identity:
        return False
    wanted = {(rank, when) for rank in range(int(ranks)) for when in WHEN}
    said: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for entry in record.identity:
        if not entry.match:
            return False
        said[entry.target].add((entry.rank, entry.when))
    return bool(wanted) and all(answers == wanted for answers in said.values())


def isolation(records: Sequence[TrialRecord]) -> str:
    return "+".join(sorted({record.isolation for record in records})) or "unknown"


def image(counted: Sequence[TrialRecord]) -> str | None:
    """Give the short ids of the images, one in a sound run; None where nothing ran in containers."""
    ids = {
        record.container.image_digest or record.container.image_id
        for record in counted
        if record.container is not None
    }
    return ", ".join(sorted(_short(name) for name in ids)) or None


def _short(name: str) -> str:
    return name.rpartition(":")[2][:SHORT_ID]

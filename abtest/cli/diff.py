"""`abtest diff`: two records of one run held against each other."""

import difflib
from pathlib import Path

from abtest.errors import UsageError
from abtest.ledger import store
from abtest.model.trial import TrialRecord


def diff_text(folder: Path, left: str, right: str) -> str:
    """Write what differs between two trials; superseded ones may be named too.

    Raises:
        UsageError: the run has no record of one of them.
    """
    from abtest.report import recorddiff

    records = {record.trial: record for record in store.read(folder).records}
    return recorddiff.render(_named(records, left), _named(records, right))


def _named(records: dict[str, TrialRecord], name: str) -> TrialRecord:
    if name in records:
        return records[name]
    near = difflib.get_close_matches(name, records, n=3) or list(records)[:3]
    raise UsageError(
        f"this run has no record of a trial {name!r}",
        remedy=f"Its ledger names {len(records)} trials, such as {', '.join(near) or 'none'}.",
    )

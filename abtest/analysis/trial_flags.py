"""Flags of single trials that bear on one condition; all others are told of the whole run."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from abtest.analysis.explain import TEXTS, flag
from abtest.model.flag import Flag
from abtest.model.names import Condition
from abtest.model.trial import TrialRecord

OF_CONDITION = frozenset(
    {
        *("jit-in-window", "eager-decode", "graph-sizes-truncated", "kernels-incomplete"),
        *("cache-cold", "outputs-unstable", "unclean-close"),
    }
)
MOST_LINE = 120  # characters of a log line that a table's note can bear


def of_condition(condition: Condition, records: Sequence[TrialRecord]) -> Iterator[Flag]:
    """Report what bears on one condition, with the arms that it was seen in."""
    per_arm: dict[str, list[TrialRecord]] = defaultdict(list)
    for record in records:
        per_arm[record.arm].append(record)
    for name in sorted(OF_CONDITION):
        seen = Counter(record.arm for record in records if name in record.flags)
        if seen:
            figures = [f"{seen[arm]} of {len(per_arm[arm])} trials of {arm}" for arm in seen]
            figures += _first_line(name, records)
            yield flag(name, str(condition), "; ".join(figures))


def _first_line(name: str, records: Sequence[TrialRecord]) -> list[str]:
    """Quote the log where it is the evidence."""
    if name != "jit-in-window":
        return []
    for record in records:
        for finding in record.engine_log:
            if finding["fact"] == "jit" and finding["in_window"]:
                return [str(finding["line"])[:MOST_LINE]]
    return []


assert TEXTS.keys() >= OF_CONDITION

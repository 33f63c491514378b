"""Flags of single trials that bear on one condition; all others are told of the whole run."""

from collections import Counter
from collections.abc import Iterator, Sequence

from abtest.analysis.explain import TEXTS, flag
from abtest.model.flag import Flag
from abtest.model.names import Condition
from abtest.model.trial import TrialRecord

OF_CONDITION = frozenset(
    {
        *("jit-in-window", "eager-decode", "graph-sizes-truncated", "kernels-incomplete"),
        *("cache-cold", "outputs-unstable", "unclean-close", "prefill-uneven"),
    }
)


def of_condition(condition: Condition, records: Sequence[TrialRecord]) -> Iterator[Flag]:
    """Report what bears on one condition, with the arms that it was seen in."""
    flagged = [one for one in records if one.flags]
    per_arm = Counter(one.arm for one in records) if flagged else Counter()
    for name in sorted(OF_CONDITION):
        said = [(one.arm, detail) for one in flagged for detail in _details(name, one)]
        if said:
            seen = Counter(arm for arm, _ in said)
            figures = [f"{seen[arm]} of {per_arm[arm]} trials of {arm}" for arm in seen]
            figures += [detail for _, detail in said if detail][:1]
            yield flag(name, str(condition), "; ".join(figures))


def _details(name: str, record: TrialRecord) -> list[str]:
    """Find a flag on a trial, with what stands behind its name, if anything does; at most one."""
    parts = [text.partition(":") for text in record.flags]
    return [detail.strip() for own, _, detail in parts if own == name][:1]


assert TEXTS.keys() >= OF_CONDITION

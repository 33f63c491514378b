"""Where a run's figures come from: what was declared before it started, and what its trials recorded."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from abtest.model.result import Summary
from abtest.model.trial import TrialRecord
from abtest.report.view import View

# Facts of a trial's environment that a reviewer asks for: versions, drivers, devices.
_ASKED = re.compile(
    r"version|driver|python$|platform|distributions|cuda|rocm|gpu|device|kind$|parallel|triton"
)
NO_FLOOR = "none: no A/A run was named"


@dataclass(frozen=True, slots=True)
class Origin:
    """What `run.json` says of a run.

    Args:
        facts: (name, text), such as the image's digest; texts are foreign.
        command: arguments that would run it again, None for figures that come from elsewhere.
        floor: what an A/A run of the same set-up gave; None where none was named.
    """

    facts: tuple[tuple[str, str], ...]
    command: tuple[str, ...] | None
    floor: str | None = None


def rows(
    summary: Summary, shown: View, records: Sequence[TrialRecord], origin: Origin
) -> Iterator[tuple[str, str]]:
    """Give every fact of the run's origin as (name, text); texts are foreign."""
    yield from shown.facts
    yield from origin.facts
    yield "slot effect, change of a rate per later slot", _slot_effects(summary)
    yield "caches", _all({one.cache_policy for one in records})
    yield "hardware", _all({one.host for one in records})
    yield "A/A floor", origin.floor or NO_FLOOR
    yield from _environment(records)


def _slot_effects(summary: Summary) -> str:
    parts = [
        f"{effect.candidate}@{effect.condition} {effect.slot_effect_pct:+.1f} %"
        for effect in summary.effects
        if effect.slot_effect_pct is not None
    ]
    return ", ".join(parts) or "cannot be told"


def _environment(records: Sequence[TrialRecord]) -> Iterator[tuple[str, str]]:
    """Give the facts that are asked for; one that is not the same in all trials shows every value."""
    found: dict[str, set[str | None]] = {}
    for record in records:
        for name, value in record.environment.items():
            if not name.startswith("env.") and _ASKED.search(name):
                found.setdefault(name, set()).add(value)
    if not any("driver" in name for name in found):
        yield "driver", _all(set())
    for name in sorted(found):
        yield name, _all(found[name])


def _all(values: set[str | None]) -> str:
    return "; ".join(sorted(value for value in values if value)) or "not recorded"

"""When the machine's state makes a trial void: a rule that is fixed before the run and never looks at a rate.

Throttling voids where a clock fell *and* a reason is given: either alone is normal (an idle card has low clocks;
a card at its power limit says so all the time). A power cap by itself slows the cores, which a decode that waits
for memory need not feel: it voids only where the memory clock fell too, else it is flagged (`throttled`).
What cannot be read voids nothing and passes nothing: it is named in `absent`.
"""

import re
from collections.abc import Collection

from abtest.model.telemetry import Telemetry

LOW_PCT = 95.0  # of the cap; boost clocks wander by one or two per cent on a healthy card
SWAPPED_PAGES = (
    256  # 1 MiB during the timed pairs; a page or two of a sleeping daemon disturbs nobody
)
SOFT = frozenset({"power-cap", "sync-boost"})
_LOST = re.compile(
    r"Failed to initialize NVML|GPU is lost|has fallen off the bus|NVML_ERROR_GPU_IS_LOST|amdgpu: GPU reset",
    re.IGNORECASE,
)


def void_reason(
    seen: Telemetry, rules: Collection[str], link_width: float | None = None
) -> str | None:
    """Say why a trial is void; None where nothing that was read speaks against it.

    Args:
        rules: which of "gpu-lost", "foreign", "link", "swap", "throttle" void.
        link_width: the widest link seen in this run so far.
    """
    found = {
        "gpu-lost": _lost(seen),
        "foreign": _foreign(seen),
        "link": _link(seen, link_width),
        "swap": _swap(seen),
        "throttle": throttle(seen),
    }
    return next((reason for rule, reason in found.items() if reason and rule in rules), None)


def lost_by_log(text: str) -> str | None:
    """Find the words by which engines and drivers say that a card is gone."""
    found = _LOST.search(text)
    return None if found is None else f"gpu-lost: the log says {found[0]!r}"


def _lost(seen: Telemetry) -> str | None:
    return (
        "gpu-lost: the driver does not reach the card any more"
        if seen.figures.get("lost")
        else None
    )


def _foreign(seen: Telemetry) -> str | None:
    return f"foreign-process: on a card: {', '.join(seen.foreign)}" if seen.foreign else None


def _link(seen: Telemetry, link_width: float | None) -> str | None:
    width = seen.figures.get("link_width")
    if width is None or link_width is None or width >= link_width:
        return None
    return f"link-narrower: PCIe x{width:g}, it was x{link_width:g} in this run"


def _swap(seen: Telemetry) -> str | None:
    pages = seen.figures.get("swapped_pages")
    if pages is None or pages < SWAPPED_PAGES:
        return None
    return f"swap: {pages:g} pages went to or from swap during the timed pairs"


def throttle(seen: Telemetry) -> str | None:
    """Apply the rule for clocks; None where either half of it is missing."""
    reasons = set(seen.reasons or ())
    low = {
        kind
        for kind in ("sm", "mem")
        if (seen.figures.get(f"decode_{kind}_pct_of_cap") or 100.0) < LOW_PCT
    }
    if not reasons or not low or (reasons <= SOFT and "mem" not in low):
        return None
    shares = ", ".join(
        f"{kind} clock at {seen.figures[f'decode_{kind}_pct_of_cap']:.1f} % of its cap"
        for kind in sorted(low, reverse=True)
    )
    return f"throttled: {shares}, reasons: {', '.join(sorted(reasons))}"

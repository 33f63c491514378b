"""Where a spread between rounds shows: in the prefill that the differential amplifies, in the kernels, or in neither.

Time stamps inside the long request hold no prefill: jitter of the prefill moves the differential and leaves them alone.
Kernels come from a profiled request after the timed ones, so that they tell of the sandbox, not of each pair. Spreads
of independent parts add up in squares: a part with 0.9 of the spread leaves a fifth of the variance to all others, one
with 0.2 of it has a twenty-fifth.
"""

from collections.abc import Sequence

from abtest.analysis.columns import Columns
from abtest.analysis.kernels import kernel_ms
from abtest.analysis.spread import spread_pct
from abtest.model.trial import TrialRecord

MOST = 0.9  # of the spread: from there on the quantity shows it
LITTLE = 0.2  # up to there it does not


def of_spread(records: Sequence[TrialRecord], estimates: Columns) -> str:
    """Tell what else was measured in the same rounds, and whether it moves with the rates; empty if nothing was.

    Args:
        records: counted records of one cell whose spread is over the gate.
        estimates: of the same records.
    """
    rates = [rate for rate in estimates.rate_tok_s if rate is not None]
    spread = spread_pct(rates)
    if not spread:
        return ""
    stamped = [rate for rate in estimates.timestamps_tok_s if rate is not None]
    busy_ms = [one for one in map(kernel_ms, records) if one is not None]
    parts = []
    if len(stamped) == len(records):
        parts.append(_by_stamps(spread_pct(stamped) or 0.0, spread))
    if len(busy_ms) == len(records):
        parts.append(_by_kernels(busy_ms, spread))
    return "".join(f"; {part}" for part in parts)


def _by_stamps(stamped_pct: float, spread: float) -> str:
    seen = f"by time stamps, which hold no prefill, the spread is {stamped_pct:.1f} %"
    if stamped_pct >= MOST * spread:
        return f"{seen}: it is not the prefill's jitter"
    if stamped_pct <= LITTLE * spread:
        return f"{seen}: it is the prefill's jitter, amplified"
    return seen


def _by_kernels(busy_ms: Sequence[float], spread: float) -> str:
    seen = f"the kernels of a profiled step took {min(busy_ms):.4g} to {max(busy_ms):.4g} ms"
    moved_pct = spread_pct(busy_ms) or 0.0
    if moved_pct <= LITTLE * spread:
        return f"{seen}: they do not show it"
    if moved_pct >= MOST * spread:
        return f"{seen}: they show it too"
    return seen

"""The counted trials one by one, for charts: the same estimates as in the cells, nothing pooled."""

from collections.abc import Sequence

from abtest.analysis.counting import count
from abtest.analysis.differential import estimate
from abtest.model.point import Point
from abtest.model.telemetry import Telemetry
from abtest.model.trial import TrialRecord

# The untimed steady decode is longer than the timed ones, so its readings are the better ones.
PHASES = ("steady", "decode")


def points(
    records: Sequence[TrialRecord], arms: Sequence[str], rounds: tuple[int, int] | None = None
) -> tuple[Point, ...]:
    """List every trial whose rate enters a cell, in time order.

    Args:
        records: standing ones, in time order.
        rounds: only rounds from the first to the second of these, both included.
    """
    chosen = [one for one in records if rounds is None or rounds[0] <= one.round <= rounds[1]]
    found = []
    for record in count(chosen, arms).records:
        one = estimate(record)
        if one.rate_tok_s is None:
            continue  # the cell says `drowned`; there is no rate to draw
        found.append(
            Point(
                cell=record.cell,
                trial=record.trial,
                round=record.round,
                slot=record.slot,
                order=record.order,
                tokens=record.tokens,
                rate_tok_s=one.rate_tok_s,
                timestamps_tok_s=one.timestamps_tok_s,
                leverage=one.leverage,
                pairs=record.pairs,
                flags=record.flags,
                power_w=_reading(record.telemetry, "power_w"),
                clock_mhz=_reading(record.telemetry, "sm_mhz"),
            )
        )
    return tuple(found)


def _reading(telemetry: Telemetry | None, name: str) -> float | None:
    """Read one figure of the decode; prefill has another clock and another power, and never stands in for it."""
    phases = {} if telemetry is None else telemetry.phases
    known = (phases.get(phase, {}).get(name) for phase in PHASES)
    return next((value for value in known if value is not None), None)

"""Power against depth: a card that draws *less* the deeper the context, in one arm only, waits for a few of its units.

Reading more cache makes a healthy card draw more. Where one program walks a whole context, most units idle while it
does, longer with every token: power falls with depth. The sign needs no profiler, and no look at the rate.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from abtest.analysis import moments
from abtest.analysis.explain import flag
from abtest.analysis.kvcache import KvCache, kv_cache, ns_per_kib
from abtest.model.flag import Flag
from abtest.model.names import Cell, Condition
from abtest.model.result import DepthTrend
from abtest.model.telemetry import Telemetry
from abtest.model.trial import TrialRecord

FALLS = 0.95  # power wanders by some per cent with temperature and with the few samples of a short decode


def decode_w(seen: Telemetry) -> float | None:
    """Give the power of decode; a steady decode has more samples than the timed pairs, so it is preferred."""
    if not seen.phases:
        return None
    for phase in ("steady", "decode"):
        watts = seen.phases.get(phase, {}).get("power_w")
        if watts is not None:
            return watts
    return None


def findings(records: Sequence[TrialRecord]) -> Iterator[Flag]:
    """Find arms whose power falls with depth while another arm's does not."""
    watts: dict[int, dict[str, dict[int, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for record in records:
        one = None if record.telemetry is None else decode_w(record.telemetry)
        if one is not None:
            watts[record.batch][record.arm][record.depth].append(one)
    for batch, by_arm in watts.items():
        ends = {arm: _ends(by_depth) for arm, by_depth in by_arm.items() if len(by_depth) > 1}
        falling = [arm for arm, (near, far) in ends.items() if far[1] < FALLS * near[1]]
        holding = [arm for arm, (near, far) in ends.items() if far[1] >= FALLS * near[1]]
        if falling and holding:
            for arm in falling:
                where = Cell(arm, Condition(ends[arm][1][0], batch))
                yield flag("power-falls", str(where), _figures(ends, arm, holding[0], records))


Point = tuple[int, float]


def _ends(by_depth: Mapping[int, Sequence[float]]) -> tuple[Point, Point]:
    near, far = min(by_depth), max(by_depth)
    return (near, moments.mean(by_depth[near])), (far, moments.mean(by_depth[far]))


def _figures(
    ends: Mapping[str, tuple[Point, Point]], arm: str, other: str, records: Sequence[TrialRecord]
) -> str:
    said = [
        f"{name} {near[1]:.0f} W at {near[0]}, {far[1]:.0f} W at {far[0]}"
        for name in (arm, other)
        for near, far in (ends[name],)
    ]
    hint = next(
        (text for record in records if record.arm == arm and (text := occupancy(record))), None
    )
    return "; ".join([*said, *([hint] if hint else [])])


def with_cache(
    trends: Sequence[DepthTrend], records: Sequence[TrialRecord]
) -> tuple[DepthTrend, ...]:
    """Add what the cache weighs, and what reading it costs, where the model's configuration was recorded."""
    telling: dict[str, TrialRecord] = {}
    for record in records:
        if "model.config" in record.environment:
            telling.setdefault(record.arm, record)
    return tuple(
        trend
        if trend.arm not in telling or (cache := cache_of(telling[trend.arm])) is None
        else replace(
            trend,
            kv_bytes_per_position=cache.bytes_per_position,
            ns_per_kib=ns_per_kib(trend.slope_ms_per_1000, trend.batch * cache.bytes_per_position),
        )
        for trend in trends
    )


def cache_of(record: TrialRecord) -> KvCache | None:
    """Work out the cache of a trial's model; None where the record does not tell it."""
    config = _loaded(record.environment.get("model.config"))
    ranks = record.environment.get("engine.tensor_parallel", "")
    if not config or not ranks.isdigit():
        return None
    arguments = _loaded(record.environment.get("engine.args"))
    dtypes = [str(arguments.get(name, "auto")) for name in ("kv_cache_dtype", "dtype")]
    chosen = next((one for one in dtypes if one != "auto"), "auto")
    return kv_cache(config, int(ranks), chosen)


def _loaded(text: str | None) -> dict[str, object]:
    try:
        body = json.loads(text or "{}")
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def occupancy(record: TrialRecord) -> str | None:
    """Compare the work items of a kernel that does not split the context with the units of one card."""
    cache = cache_of(record)
    units = record.environment.get("machine.gpu.compute_units", "").split()
    if cache is None or not units or not units[-1].isdigit():
        return None
    items = cache.kv_heads * record.batch
    return (
        f"without a split of the context {cache.kv_heads} KV heads x batch {record.batch} give {items} work items"
        f" to {units[-1]} compute units"
    )

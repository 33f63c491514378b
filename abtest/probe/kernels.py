"""From a profile's events to the kernels of one decode step; pure, so that it can be tested without a device.

A kernel belongs to the step during which it was launched, not to the one during which it ran: devices lag behind,
and with asynchronous scheduling by more than a step. Only where no launch is known its own start decides.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from typing import Any, Iterable, Mapping, NamedTuple

PREFIX = "abtest:"  # steps are marked by ranges of this name, their phase and how many sequences they advance
ON_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
LAUNCHES = frozenset({"cuda_runtime", "cuda_driver", "hip_runtime", "runtime"})
MOST = 20  # kernels named one by one, by time; the rest is one line
MOST_NAME = 100  # names of templates run to thousands of characters
OTHERS = "(others)"
US_PER_MS = 1000.0
# Engines launch a few microseconds of work in some steps only: the entry for a new block of 16 tokens, for one. A
# profile that lost events of the layers' kernels loses whole percents of a step.
MOST_UNEVEN_SHARE = 0.01

Event = Mapping[str, Any]


class Decode(NamedTuple):
    """What decode steps launched.

    Args:
        steps: how many whole decode steps the profile holds.
        kernels: name, calls per step and milliseconds per step, the longest first.
        uneven: names of kernels that were not launched equally often in every step.
        uneven_share: their part of the time of all kernels.
    """

    steps: int
    kernels: list[dict[str, Any]]
    uneven: list[str]
    uneven_share: float = 0.0


def decode_kernels(events: Iterable[Event]) -> Decode:
    """Attribute device events to decode steps.

    A step lasts from its mark to the next one, for sampling comes after the mark's range; the last step has no end
    and is left out, and so are those at the edges of a batch, which decode fewer sequences than the fullest one.

    Args:
        events: `traceEvents` of a Chrome trace, times in microseconds.
    """
    listed = [one for one in events if "ts" in one]
    marks = sorted(
        (float(one["ts"]), *_phase_and_size(str(one["name"])[len(PREFIX) :]))
        for one in listed
        if one.get("cat") == "user_annotation" and str(one.get("name", "")).startswith(PREFIX)
    )
    starts_us = [start_us for start_us, _, _ in marks]
    sizes = {place: size for place, (_, phase, size) in enumerate(marks[:-1]) if phase == "decode"}
    most = max(sizes.values(), default=0)
    decoding = {place for place, size in sizes.items() if size == most}
    launched_us = {
        _correlation(one): float(one["ts"]) for one in listed if one.get("cat") in LAUNCHES
    }
    launched_us.pop(None, None)
    calls: dict[str, dict[int, int]] = {}
    spent_us: dict[str, float] = {}
    for one in listed:
        if one.get("cat") not in ON_DEVICE:
            continue
        at_us = launched_us.get(_correlation(one), float(one["ts"]))
        step = bisect_right(starts_us, at_us) - 1
        if step in decoding:
            name = short_name(str(one["name"]))
            of_step = calls.setdefault(name, {})
            of_step[step] = of_step.get(step, 0) + 1
            spent_us[name] = spent_us.get(name, 0.0) + float(one.get("dur", 0.0))
    return _summed(len(decoding), calls, spent_us)


def mark(phase: str, sequences: int) -> str:
    """Name the mark of a step.

    >>> mark("decode", 16)
    'abtest:decode:16'
    """
    return f"{PREFIX}{phase}:{sequences}"


def _phase_and_size(what: str) -> tuple[str, int]:
    phase, _, sequences = what.partition(":")
    return phase, int(sequences)


def short_name(name: str) -> str:
    """Cut a long name; a digest of the whole keeps two of them apart.

    >>> short_name("attention"), len(short_name("void gemm<" + 500 * "x"))
    ('attention', 100)
    """
    if len(name) <= MOST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: MOST_NAME - len(digest) - 1]}~{digest}"


def _correlation(event: Event) -> Any:  # noqa: ANN401 - a number, None where there is none
    return (event.get("args") or {}).get("correlation")


def _summed(steps: int, calls: dict[str, dict[int, int]], spent_us: dict[str, float]) -> Decode:
    ordered = sorted(calls, key=lambda name: -spent_us[name])
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "calls": round(sum(calls[name].values()) / steps, 4),
            "ms_per_step": round(spent_us[name] / steps / US_PER_MS, 6),
        }
        for name in ordered
    ]
    if len(rows) > MOST:
        rest = rows[MOST:]
        total = {key: round(sum(row[key] for row in rest), 6) for key in ("calls", "ms_per_step")}
        rows = [*rows[:MOST], {"name": OTHERS, **total}]
    uneven = [name for name in ordered if len({*_counts(calls[name], steps)}) > 1]
    total_us = sum(spent_us.values())
    share = sum(spent_us[name] for name in uneven) / total_us if total_us else 0.0
    return Decode(steps, rows, uneven, round(share, 6))


def _counts(of_step: dict[int, int], steps: int) -> list[int]:
    return [*of_step.values(), *([0] if len(of_step) < steps else [])]


def covers_layers(rows: Iterable[Mapping[str, Any]], layers: int) -> bool:
    """Tell whether some kernel ran once (or a whole number of times) for each layer.

    >>> covers_layers([{"name": "attention", "calls": 32.0}], 16), covers_layers([{"name": "a", "calls": 1.0}], 16)
    (True, False)
    """
    calls = [float(row["calls"]) for row in rows]
    return any(one >= layers and one.is_integer() and int(one) % layers == 0 for one in calls)

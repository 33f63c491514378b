"""From values to places on a drawing, with ticks that a reader can take in."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

STEPS = (1, 2, 5, 10)
TICKS = 5
WIDE = 4.0  # a largest value over a smallest one from which a logarithmic axis shows more than one from zero


@dataclass(frozen=True, slots=True)
class Tick:
    """One mark of an axis: where, and what it says."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Scale:
    """A mapping from values to places.

    Args:
        low: the value at `start`.
        high: the value at `end`.
        log: equal ratios, not equal differences, take equal room.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool
    values: tuple[float, ...]

    def at(self, value: float) -> float:
        """Place a value; one beyond the axis is placed at its end."""
        if self.log:
            value = max(value, self.low)
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + min(1.0, max(0.0, share)) * (self.end - self.start), 1)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        return tuple(Tick(self.at(value), short(value)) for value in self.values)


def short(value: float) -> str:
    """Write a tick.

    >>> short(0.5), short(20.0), short(32768.0)
    ('0.5', '20', '32768')
    """
    return f"{round(value, 6):.10g}"


def from_zero(values: Sequence[float], start: float, end: float) -> Scale:
    """Make a linear axis that begins at zero, so that no difference looks larger than it is."""
    top = max(values, default=1.0) or 1.0
    step = _step(top / TICKS)
    count = math.ceil(top / step - 1e-9)
    return Scale(
        0, count * step, start, end, log=False, values=tuple(step * n for n in range(count + 1))
    )


def around(values: Sequence[float], middle: float, start: float, end: float) -> Scale:
    """Make a linear axis that is symmetric about a middle."""
    reach = max((abs(value - middle) for value in values), default=0.0) or 1.0
    step = _step(reach / 2)
    count = math.ceil(reach / step - 1e-9)
    ticks = tuple(middle + step * n for n in range(-count, count + 1))
    return Scale(ticks[0], ticks[-1], start, end, log=False, values=ticks)


def rates(values: Sequence[float], start: float, end: float) -> Scale:
    """Make an axis for rates: from zero, or logarithmic where the values lie far apart."""
    if not values or max(values) < WIDE * min(values):
        return from_zero(values, start, end)
    low, high = min(values) / 1.15, max(values) * 1.15
    return Scale(low, high, start, end, log=True, values=_log_ticks(low, high))


def ratios(values: Sequence[float], start: float, end: float) -> Scale:
    """Make a logarithmic axis for ratios; one is always on it."""
    low, high = min((*values, 1.0)) / 1.06, max((*values, 1.0)) * 1.06
    if high < WIDE * low:
        step = _step((high - low) / TICKS)
        first = math.ceil(low / step)
        ticks = [step * n for n in range(first, math.floor(high / step) + 1)]
    else:
        ticks = list(_log_ticks(low, high))
    return Scale(low, high, start, end, log=True, values=tuple(sorted({*ticks, 1.0})))


def places(values: Sequence[float], start: float, end: float, *, log: bool) -> Scale:
    """Make an axis whose ticks are the values themselves, such as the measured depths."""
    ordered = tuple(sorted(set(values)))
    low, high = ordered[0], ordered[-1]
    if low == high:
        low, high = low / 2, high * 2
    return Scale(low, high, start, end, log, ordered)


def _step(least: float) -> float:
    """Find the next larger of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * one for one in STEPS if power * one >= least * (1 - 1e-9))


def _log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Take 1, 2, 5 of each decade; only the ones, or every few decades, where those are too many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, (last - first) // TICKS)
    steps = STEPS[:3] if every == 1 and high / low < 1000 else (1,)  # noqa: PLR2004 - three decades
    found = [one * 10.0**power for power in range(first, last + 1, every) for one in steps]
    return tuple(value for value in found if low <= value <= high)

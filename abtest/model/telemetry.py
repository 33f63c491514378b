"""What the machine did beside a trial: the samples, and the summary that stands on the record.

A reading that could not be had is None, never 0; what a platform cannot read at all is named in `absent`.

Channels are named `<place>.<quantity>_<unit>`: `gpu0.sm_mhz`, `gpu0.power_w`, `cpu.other_cores`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Sample = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class CardProcess:
    """A process that holds memory on a card.

    Args:
        card: such as "gpu0".
        ours: whether it belongs to this tool's own trial; None where that cannot be told.
        cgroup: its control groups as the kernel names them; None where they cannot be read.
    """

    card: str
    pid: int
    ours: bool | None
    cgroup: str | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """All samples of one trial, untrimmed.

    Args:
        channels: names of the columns.
        rows: (seconds on the machine's monotonic clock, one value per channel).
        absent: channels without a single reading, and whole sources that do not exist here.
        processes: every process that was seen on a card.
        cpu_s: processor time of the sampling thread itself.
    """

    period_s: float
    channels: tuple[str, ...] = ()
    rows: tuple[tuple[float, tuple[float | None, ...]], ...] = ()
    absent: tuple[str, ...] = ()
    processes: tuple[CardProcess, ...] = ()
    cpu_s: float | None = None

    def column(self, channel: str) -> tuple[tuple[float, float], ...]:
        """Give (time, value) of one channel where it was read."""
        if channel not in self.channels:
            return ()
        place = self.channels.index(channel)
        return tuple((at, value) for at, row in self.rows if (value := row[place]) is not None)


@dataclass(frozen=True, slots=True)
class Window:
    """One generation on the machine's monotonic clock, in seconds.

    Args:
        kind: "warmup", "pair" or "steady".
        decode_s: when its first token was there; None where neither stamps nor pairs tell.
        estimated: `decode_s` was computed from the pairs, not stamped.
    """

    kind: str
    start_s: float
    end_s: float
    decode_s: float | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Telemetry:
    """The summary of one trial's samples.

    Args:
        split: where decode begins: "stamped", "estimated", or "none" where it cannot be told.
        phases: phase ("prefill", "decode", "steady") -> figure -> value; `n` counts its samples. Over cards:
            clocks are the slowest card's, power is the sum, temperature the hottest.
        figures: of the whole trial: first and minimum clocks, caps, links, counters.
        reasons: names of the throttle reasons that were set during decode; None where none can be read.
        foreign: processes of others on a card, such as "gpu0: pid 17".
        absent: what could not be read.
        idle_s: time between the end of the trial before and the start of this one.
        sampler_cpu_pct: processor time of the sampler, per cent of one core.
    """

    period_s: float
    samples: int
    split: str = "none"
    phases: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    figures: Mapping[str, float | None] = field(default_factory=dict)
    reasons: tuple[str, ...] | None = None
    foreign: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    idle_s: float | None = None
    sampler_cpu_pct: float | None = None

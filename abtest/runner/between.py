"""Between two trials: the cards are given back before the next one starts, or the run stops and says so."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from abtest.errors import InfrastructureError
from abtest.model.telemetry import CardProcess, Sample
from abtest.ports import Clock, TelemetrySource

SLACK_BYTES = 256 << 20  # a driver keeps some; engines ask for gibibytes
LOOK_EVERY_S = 0.5
_MEMORY = ".mem_used_bytes"


@dataclass(slots=True)
class Between:
    """Keeps the gap between trials, and what the cards held before the first one.

    Args:
        idle_s: the gap is filled up to this where there are cards, so that all trials start alike.
        settle_s: how long to wait for the cards.
        baseline_bytes: memory in use per card before the first trial.
    """

    source: TelemetrySource
    clock: Clock
    idle_s: float
    settle_s: float
    baseline_bytes: Mapping[str, float] = field(default_factory=dict)
    _ended_s: float | None = None

    def begin(self) -> None:
        """Take the baseline; call it before the first trial."""
        sample, _ = self.source.look()
        self.baseline_bytes = {
            name.removesuffix(_MEMORY): value
            for name, value in sample.items()
            if name.endswith(_MEMORY) and value is not None
        }

    def trial_ended(self) -> None:
        self._ended_s = self.clock.monotonic_s()

    def wait(self) -> float | None:
        """Wait until the cards are as before; returns the gap since the last trial's end, None before the first.

        Raises:
            InfrastructureError: memory did not come back, or somebody else works on a card.
        """
        start_s = self.clock.monotonic_s()
        while faults := list(busy(self.baseline_bytes, *self.source.look())):
            if self.clock.monotonic_s() - start_s >= self.settle_s:
                raise InfrastructureError(
                    f"previous-run-memory: after {self.settle_s:g} s {'; '.join(faults)}",
                    remedy="Find what holds the card (nvidia-smi, rocm-smi), end it or reset the card, then use --resume.",
                )
            self.clock.sleep(LOOK_EVERY_S)
        if self._ended_s is None:
            return None
        if self.baseline_bytes:
            self.clock.sleep(max(0.0, self.idle_s - (self.clock.monotonic_s() - self._ended_s)))
        return self.clock.monotonic_s() - self._ended_s


def busy(
    baseline_bytes: Mapping[str, float], sample: Sample, processes: tuple[CardProcess, ...]
) -> Iterator[str]:
    """Say what keeps a card from being as it was; a reading that is gone is no pass."""
    for card, was in baseline_bytes.items():
        held = sample.get(f"{card}{_MEMORY}")
        if held is None:
            yield f"{card} does not tell its memory any more"
        elif held > was + SLACK_BYTES:
            yield f"{card} still holds {(held - was) / (1 << 30):.1f} GiB more than before the run"
    for one in processes:
        if one.ours is not True:  # no trial runs now: one that cannot be seen is nobody's we know
            yield f"process {one.pid} of somebody else works on {one.card}"

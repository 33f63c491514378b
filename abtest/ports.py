"""Small protocols, owned by the core, that adapters fulfil."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from abtest.model.sandbox import Collected, ImageFacts, ImageRequest, SandboxRequest, SandboxState
from abtest.model.telemetry import CardProcess, Sample, Telemetry, Window
from abtest.model.trial import PlannedTrial, TrialRecord


class Sandbox(Protocol):
    """One fresh place in which one trial runs; made by `Runtime.open`, removed when that context ends."""

    def start(self) -> None:
        """Start the probe.

        Raises:
            InfrastructureError: the sandbox could not be started.
        """
        ...

    def poll(self) -> SandboxState:
        """Tell the latest phase and, once the probe has ended, the exit; never blocks for long."""
        ...

    def collect(self) -> Collected:
        """Read what the probe left behind; call it after the exit."""
        ...


class Runtime(Protocol):
    """Where trials run."""

    @property
    def isolation(self) -> str:
        """The word that every table prints: "docker", "process" or "simulated"."""
        ...

    def survey(self, request: ImageRequest) -> ImageFacts:
        """Resolve the image and its targets once for a run.

        Raises:
            UnprovedError: a target is missing, or is not a regular file.
            InfrastructureError: the image cannot be had, or the engine does not serve our paths.
        """
        ...

    def open(self, request: SandboxRequest) -> AbstractContextManager[Sandbox]:
        """Create a sandbox, swap the files and assert that nothing else differs; removed on every exit.

        Raises:
            UnprovedError: the sandbox differs from its image in more than the swaps.
            InfrastructureError: it could not be created.
        """
        ...


class Watch(Protocol):
    """The samples of one trial, taken beside it until the context that gave this ends."""

    def report(
        self, windows: Sequence[Window], out_dir: str, container: str | None
    ) -> tuple[Telemetry, Mapping[str, str]]:
        """Summarise the samples, and write them to a sidecar; returns its name with its sha256.

        Args:
            container: id of the container that the trial ran in: what ran elsewhere on its cards was not ours.

        Raises:
            OSError: it cannot be written.
        """
        ...


class TelemetrySource(Protocol):
    """What tells the machine's state; a reading that cannot be had is None, never 0."""

    def facts(self) -> Mapping[str, str]:
        """Describe the machine: flat, the same for all trials of a run."""
        ...

    def look(self) -> tuple[Sample, tuple[CardProcess, ...]]:
        """Read everything once, outside of any trial."""
        ...

    def watch(self) -> AbstractContextManager[Watch]:
        """Sample beside a trial, in a thread, at a fixed period."""
        ...


class RecordSink(Protocol):
    """Where records go, and the folders of trials."""

    def open_trial(self, name: str) -> tuple[str, str]:
        """Make a fresh folder for one attempt at a trial; returns its unique name and absolute path."""
        ...

    def append(self, record: TrialRecord) -> None:
        """Store one record durably before returning."""
        ...

    def supersede(self, trial: str, reason: str) -> None:
        """Mark an earlier record as replaced; it stays where it is."""
        ...


class Clock(Protocol):
    """Time, so that tests need none."""

    def monotonic_s(self) -> float: ...

    def utc(self) -> str:
        """The time of day as `2026-01-31T23:59:59Z`."""
        ...

    def sleep(self, seconds: float) -> None: ...


class Listener(Protocol):
    """What progress bars and logs implement; every method returns at once."""

    def trial_started(self, trial: PlannedTrial, total: int) -> None: ...

    def phase(self, trial: PlannedTrial, phase: str) -> None: ...

    def trial_ended(self, record: TrialRecord) -> None: ...

"""The sampler: asks every reader at a fixed period, in a thread of its own."""

import hashlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from abtest.model.telemetry import CardProcess, Sample, Series, Telemetry, Window
from abtest.telemetry.amd import AmdCards
from abtest.telemetry.host import Host
from abtest.telemetry.nvidia import NvidiaCards
from abtest.telemetry.processes import Owner
from abtest.telemetry.series import csv_text, owned_by, summarise

SLOW_S = 1.0
SLOW_SHARE = 50  # looking through thousands of processes takes a while: it may cost a fiftieth of a core at most
SIDECAR = "telemetry.csv"


class Cards(Protocol):
    """What readers of cards have in common."""

    @property
    def names(self) -> Sequence[str]: ...

    def facts(self) -> Mapping[str, str]: ...

    def sample(self) -> dict[str, float | None]: ...

    def processes(self) -> list[CardProcess]: ...


class Machine:
    """This machine, as a source of telemetry.

    Args:
        period_s: time between samples.
    """

    def __init__(
        self,
        period_s: float,
        *,
        owner: Owner | None = None,
        host: Host | None = None,
        cards: Sequence[Cards] | None = None,
    ) -> None:
        self.period_s = period_s
        self._owner = owner or Owner()
        self._host = host or Host(self._owner)
        self._cards = _all_cards(self._owner) if cards is None else tuple(cards)

    def facts(self) -> Mapping[str, str]:
        """Describe the machine: flat, the same for all trials of a run."""
        found = dict(self._host.facts())
        for cards in self._cards:
            found |= cards.facts()
        return found

    def look(self) -> tuple[Sample, tuple[CardProcess, ...]]:
        """Read everything once, outside of any trial."""
        sample = {**self._host.sample(), **self._host.slow_sample(time.monotonic())}
        for cards in self._cards:
            sample |= cards.sample()
        return sample, tuple(one for cards in self._cards for one in cards.processes())

    @contextmanager
    def watch(self) -> Iterator["Watch"]:
        """Sample until the context ends."""
        self._owner.trial_begins()
        watch = Watch(self._host, self._cards, self.period_s)
        thread = threading.Thread(target=watch.run, name="telemetry", daemon=True)
        thread.start()
        try:
            yield watch
        finally:
            watch.stop()
            thread.join(timeout=5)  # a driver that hangs must not take the run with it


def _all_cards(owner: Owner) -> tuple[Cards, ...]:
    found: list[Cards] = [NvidiaCards(owner), AmdCards(owner)]
    return tuple(cards for cards in found if cards.names)


class Watch:
    """The samples of one trial."""

    def __init__(self, host: Host, cards: Sequence[Cards], period_s: float) -> None:
        self._host = host
        self._cards = cards
        self._period_s = period_s
        self._stopped = threading.Event()
        self._rows: list[tuple[float, dict[str, float | None]]] = []
        self._processes: dict[tuple[str, int], CardProcess] = {}
        self._cpu_s: float | None = None
        self._problem: str | None = None

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        """Take samples until told to stop; what goes wrong is kept and told, a trial is not lost for it."""
        try:
            self._sample_until_stopped()
        except Exception as error:  # noqa: BLE001 - drivers raise anything
            self._problem = f"sampler ({type(error).__name__}: {error})"

    def _sample_until_stopped(self) -> None:
        began_cpu_s, next_slow_s = time.thread_time(), 0.0
        due_s = time.monotonic()
        while True:
            now_s = time.monotonic()
            sample = self._host.sample()
            for cards in self._cards:
                sample |= cards.sample()
            if now_s >= next_slow_s:
                sample |= self._host.slow_sample(now_s)
                self._look_at_processes()
                next_slow_s = now_s + max(SLOW_S, SLOW_SHARE * (time.monotonic() - now_s))
            self._rows.append((now_s, sample))
            self._cpu_s = time.thread_time() - began_cpu_s
            due_s = max(due_s + self._period_s, time.monotonic())
            if self._stopped.wait(max(0.0, due_s - time.monotonic())):
                return

    def _look_at_processes(self) -> None:
        """Keep the first answer about each process, unless a later one knows better."""
        for cards in self._cards:
            for one in cards.processes():
                known = self._processes.get((one.card, one.pid))
                if known is None or known.ours is not True:
                    self._processes[one.card, one.pid] = one

    def series(self) -> Series:
        """Give all samples so far."""
        rows = list(self._rows)
        channels = tuple(dict.fromkeys(name for _, sample in rows for name in sample))
        silent = [name for name in channels if all(sample.get(name) is None for _, sample in rows)]
        absent = [*_shortened(silent), *([] if self._cards else ["gpu"])]
        if self._problem is not None:
            absent.append(self._problem)
        kept = tuple(name for name in channels if name not in silent)
        return Series(
            period_s=self._period_s,
            channels=kept,
            rows=tuple((at, tuple(sample.get(name) for name in kept)) for at, sample in rows),
            absent=tuple(absent),
            processes=tuple(self._processes.values()),
            cpu_s=self._cpu_s,
        )

    def report(
        self, windows: Sequence[Window], out_dir: str, container: str | None
    ) -> tuple[Telemetry, dict[str, str]]:
        """Summarise, and write the sidecar; returns its name with its sha256.

        Args:
            container: id of the container that the trial ran in.

        Raises:
            OSError: it cannot be written.
        """
        series = owned_by(self.series(), container)
        data = csv_text(series).encode()
        path = Path(out_dir) / SIDECAR
        part = path.with_name(f".{SIDECAR}.part")
        part.write_bytes(data)
        part.replace(path)
        return summarise(series, windows), {SIDECAR: hashlib.sha256(data).hexdigest()}


def _shortened(names: Sequence[str]) -> list[str]:
    """Say `gpu*.reasons` once for eight cards."""
    return list(
        dict.fromkeys(
            f"gpu*.{name.partition('.')[2]}" if name.startswith("gpu") else name for name in names
        )
    )

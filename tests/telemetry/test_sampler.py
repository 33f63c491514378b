"""The sampler: samples in its own thread, tells what is absent, and never takes a trial with it."""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from abtest.model.telemetry import CardProcess, Window
from abtest.telemetry.host import Host
from abtest.telemetry.processes import Owner
from abtest.telemetry.sampler import Machine, Watch
from tests.telemetry.conftest import stat_line, write_tree


class FakeCards:
    """One card; counts samples, and can fail."""

    def __init__(self, enough: int = 3, fail: bool = False) -> None:  # noqa: FBT001, FBT002 - a switch of a fake
        self.enough, self.fail = enough, fail
        self.taken = 0
        self.ready = threading.Event()
        self.threads: set[int] = set()

    @property
    def names(self) -> Sequence[str]:
        return ["gpu0"]

    def facts(self) -> Mapping[str, str]:
        return {"gpu.models": "a card"}

    def sample(self) -> dict[str, float | None]:
        self.taken += 1
        self.threads.add(threading.get_ident())
        if self.taken >= self.enough:
            self.ready.set()
        if self.fail:
            raise OSError("driver gone")
        return {"gpu0.power_w": 100.0, "gpu0.reasons": None, "gpu0.link_width": None}

    def processes(self) -> list[CardProcess]:
        return [CardProcess("gpu0", 4, ours=None if self.taken == 1 else True)]


def machine(tmp_path: Path, cards: FakeCards | None) -> Machine:
    write_tree(tmp_path, {"10/stat": stat_line(10, 1), "vmstat": "pswpin 0\npswpout 0\n"})
    owner = Owner(tmp_path, pid=10)
    return Machine(
        0.02,
        owner=owner,
        host=Host(owner, tmp_path, tmp_path),
        cards=[] if cards is None else [cards],
    )


def test_samples_are_taken_in_another_thread_until_the_trial_ends(tmp_path: Path) -> None:
    cards = FakeCards()
    with machine(tmp_path, cards).watch() as watch:
        assert cards.ready.wait(30)
    taken = cards.taken
    series = watch.series()
    assert threading.get_ident() not in cards.threads
    assert len(series.rows) == taken == cards.taken >= 3
    assert series.period_s == 0.02
    assert [at for at, _ in series.rows] == sorted({at for at, _ in series.rows})
    assert series.cpu_s is not None


def test_d9_what_cannot_be_read_is_listed_as_absent(tmp_path: Path) -> None:
    cards = FakeCards()
    with machine(tmp_path, cards).watch() as watch:
        cards.ready.wait(30)
    absent = watch.series().absent
    assert {"gpu*.reasons", "gpu*.link_width", "cpu.throttles", "psi.cpu_pct"} <= set(absent)
    assert "mem.swapped_pages" not in absent
    assert "gpu0.link_width" not in watch.series().channels
    with machine(tmp_path, None).watch() as bare:
        pass
    assert "gpu" in bare.series().absent


def test_a_driver_that_fails_is_told_and_the_trial_goes_on(tmp_path: Path) -> None:
    cards = FakeCards(enough=1, fail=True)
    with machine(tmp_path, cards).watch() as watch:
        cards.ready.wait(30)
    assert any("driver gone" in name for name in watch.series().absent)


def test_the_sidecar_has_the_hash_that_goes_on_the_record(tmp_path: Path) -> None:
    cards = FakeCards()
    with machine(tmp_path, cards).watch() as watch:
        cards.ready.wait(30)
    telemetry, files = watch.report([Window("pair", 0, 1e12, 1)], str(tmp_path), None)
    data = (tmp_path / "telemetry.csv").read_bytes()
    assert files == {"telemetry.csv": hashlib.sha256(data).hexdigest()}
    assert data.startswith(b"monotonic_s,")
    assert telemetry.samples == len(data.splitlines()) - 1
    assert telemetry.phases["decode"]["power_w"] == 100


def test_a_later_answer_about_a_process_replaces_an_unsure_one(tmp_path: Path) -> None:
    owner = Owner(tmp_path, pid=10)
    cards = FakeCards()
    watch = Watch(Host(owner, tmp_path, tmp_path), [cards], 0.02)
    cards.taken = 1
    watch._look_at_processes()  # noqa: SLF001 - a second pass would take a second of real time
    cards.taken = 2
    watch._look_at_processes()  # noqa: SLF001 - as above
    assert [one.ours for one in watch.series().processes] == [True]


def test_a_look_between_trials_reads_everything_once(tmp_path: Path) -> None:
    sample, processes = machine(tmp_path, FakeCards()).look()
    assert sample["gpu0.power_w"] == 100
    assert "cpu.mhz_mean" in sample
    assert [one.pid for one in processes] == [4]
    assert machine(tmp_path, FakeCards()).facts()["gpu.models"] == "a card"

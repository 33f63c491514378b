"""How `abtest summary` grows with its ledger: time, peak memory, and the factor from 10 000 records."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

from abtest.ledger import codec, store
from tools import ledgers

SIZES = (10_000, 100_000)
CONDITIONS = 100
REPEATS = 3
TURNS = 5
LIMIT_S, LIMIT_MB = 3.0, 500.0


def once(folder: Path) -> tuple[float, float, float]:
    """Run one summary; gives wall seconds, processor seconds and the peak of resident memory in MB."""
    start_s = os.times().elapsed
    child = subprocess.Popen(
        [sys.executable, "-m", "abtest", "summary", str(folder)], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)  # it is waited for already
    if child.returncode != 0:
        raise SystemExit(f"summary exited with {child.returncode}")
    return (
        os.times().elapsed - start_s,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
    )


def bench_summary() -> None:
    """Print one line per size, the best of some runs: what else runs here can only slow it down."""
    print(
        f"abtest summary, best of {REPEATS}; wanted: {LIMIT_S:.0f} s and {LIMIT_MB:.0f} MB at 100 000"
    )
    first: tuple[float, ...] = ()
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            run = ledgers.write(Path(folder) / str(size), size, CONDITIONS)
            best = tuple(map(min, zip(*(once(run) for _ in range(REPEATS)), strict=True)))
            first = first or best
            growth = "".join(f"  {now / then:5.1f}x" for now, then in zip(best, first, strict=True))
            print(
                f"  {size:>7} records, {ledgers.size_of(run) / 1e6:5.0f} MB: {best[0]:5.2f} s, "
                f"{best[1]:5.2f} s of processor, {best[2]:5.0f} MB{growth}"
            )
        bench_checksum(Path(folder) / str(SIZES[-1]), SIZES[-1])


def bench_checksum(run: Path, size: int) -> None:
    """Print what holding every line against its checksum adds to reading a ledger, taken in turn."""
    blind = patch.object(codec, "holds", lambda _line: True)
    times_s: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(TURNS):
        for checked in (True, False) if turn % 2 else (False, True):
            with nullcontext() if checked else blind:
                start_s = time.process_time()
                store.read(run, brief=True)
                times_s[checked].append(time.process_time() - start_s)
    ours_s, bare_s = (statistics.median(times_s[checked]) for checked in (True, False))
    print(
        f"  reading {size} records with checksums / without, medians of {TURNS}: "
        f"{ours_s:.2f} s / {bare_s:.2f} s of processor, {ours_s / bare_s:.2f}x"
    )


if __name__ == "__main__":
    bench_summary()

"""`make torture RUNS=200 SEED=1`: seeded runs with one fault each; exit 1 if any of them went wrong."""

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tools.torture.faults import FAULTS, Fault
from tools.torture.play import Outcome, can, play, undisturbed
from tools.torture.table import table


def schedule(runs: int, seed: int, runtimes: tuple[str, ...]) -> Iterator[tuple[int, Fault, str]]:
    """Deal the faults: every second run on docker where it is there, each runtime's kinds in turn."""
    others = [runtime for runtime in runtimes if runtime != "docker"]
    decks: dict[str, list[Fault]] = {runtime: [] for runtime in runtimes}
    chance = random.Random(seed)
    for number in range(1, runs + 1):
        docker = "docker" in runtimes and (number % 2 == 1 or not others)
        runtime = "docker" if docker else others[number // 2 % len(others)]
        deck = decks[runtime]
        if not deck:
            deck += [fault for fault in FAULTS if runtime in fault.where and can(fault)]
            chance.shuffle(deck)
        yield number, deck.pop(), runtime


def main() -> int:
    """Play all runs and print the table."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="play this number of the schedule alone")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run after this time")
    parser.add_argument("--runtimes", default="docker,process,simulated")
    parser.add_argument("--kind", default="", help="play only kinds that hold these words")
    parser.add_argument("--pause", type=Path, help="begin no run while this file exists")
    parser.add_argument("--keep", type=Path, help="folder for copies of the wrong ones' folders")
    asked = parser.parse_args()
    runtimes = tuple(asked.runtimes.split(","))
    usual = {runtime: undisturbed(runtime) for runtime in runtimes}
    outcomes: list[Outcome] = []
    start_s = time.monotonic()
    for number, fault, runtime in schedule(asked.runs, asked.seed, runtimes):
        if asked.only not in {None, number} or asked.kind not in fault.name:
            continue
        if time.monotonic() - start_s > asked.minutes * 60:
            break
        _wait_for_quiet(asked.pause)
        chance = random.Random(f"{asked.seed}-{number}")
        try:
            one = play(number, fault, runtime, chance, usual[runtime], keep=asked.keep)
        except (OSError, LookupError, RuntimeError, subprocess.SubprocessError) as error:
            one = Outcome(
                number, fault.name, runtime, "wrong", 0.0, (f"the tool itself: {error!r}",)
            )
        outcomes.append(one)
        at = f"{time.monotonic() - start_s:6.0f} s  {number:3d} {one.verdict:<9} {runtime:<9}"
        said = f"{at} {one.fault} at {one.at_s:.2f} s {'; '.join(one.why)}"
        print(said, file=sys.stderr, flush=True)
    print(table(outcomes, asked.seed), end="")
    return 1 if any(one.verdict == "wrong" for one in outcomes) or not outcomes else 0


def _wait_for_quiet(pause: Path | None) -> None:
    """Others may measure on this machine: they say so by a file."""
    while pause is not None and pause.exists():
        time.sleep(5)


if __name__ == "__main__":
    sys.exit(main())

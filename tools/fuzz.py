"""`make fuzz MINUTES=60`: the property tests again and again with other seeds; exit 1 if one of them fails."""

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

PROPERTIES = Path(__file__).resolve().parent.parent / "tests" / "properties"
PYTEST = (
    *(sys.executable, "-m", "pytest", "-q", "--timeout=0"),
    *("--hypothesis-show-statistics", "--hypothesis-profile=fuzz"),
)
NAME = re.compile(r"^\S*?([\w-]+\.py::\w+)\S*:$")
CASES = re.compile(r"- (\d+) passing, (\d+) failing, and \d+ invalid test cases")


def counted(said: str) -> tuple[Counter[str], Counter[str]]:
    """Count test cases, passing and failing, by test in hypothesis' statistics."""
    passing, failing = Counter[str](), Counter[str]()
    name = ""
    for line in said.splitlines():
        if found := NAME.match(line):
            name = found[1]
        elif found := CASES.search(line):
            passing[name] += int(found[1])
            failing[name] += int(found[2])
    return passing, failing


def once(tests: Path, seed: int) -> tuple[int, str]:
    """Run all properties with one seed; returns pytest's exit code and what it said."""
    done = subprocess.run(
        [*PYTEST, f"--hypothesis-seed={seed}", str(tests)],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROPERTIES.parents[1],
    )
    return done.returncode, done.stdout + done.stderr


def table(passing: Counter[str], failing: Counter[str]) -> str:
    """Write Markdown: one row for each property."""
    text = "| property | test cases | failing |\n|---|---:|---:|\n"
    for name in sorted(passing):
        text += f"| {name} | {passing[name]} | {failing[name]} |\n"
    return text + f"| **all** | {passing.total()} | {failing.total()} |\n"


def main() -> int:
    """Run rounds until the time is over; at least one."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=Path, help="begin no round while this file exists")
    parser.add_argument("--tests", type=Path, default=PROPERTIES)
    asked = parser.parse_args()
    passing, failing = Counter[str](), Counter[str]()
    spent_s, seed, bad = 0.0, asked.seed, 0
    while seed == asked.seed or spent_s < asked.minutes * 60:
        while asked.pause is not None and asked.pause.exists():
            time.sleep(5)
        start_s = time.monotonic()
        code, said = once(asked.tests, seed)
        spent_s += time.monotonic() - start_s
        bad += code != 0
        for total, more in zip((passing, failing), counted(said), strict=True):
            total.update(more)
        told = said if code else f"{passing.total()} test cases"
        print(f"{spent_s:6.0f} s  seed {seed}: exit {code}, {told}", file=sys.stderr, flush=True)
        seed += 1
    print(table(passing, failing), end="")
    print(f"\nSeeds {asked.seed} to {seed - 1}; {spent_s / 60:.0f} minutes, {bad} rounds failed.")
    return 1 if bad or not passing else 0


if __name__ == "__main__":
    sys.exit(main())

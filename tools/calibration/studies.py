"""The studies: each asks the product's own functions, many times, and counts."""

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from abtest.analysis import effects, gate, moments
from abtest.analysis.classify import classify
from abtest.analysis.gate import LOOKS
from abtest.analysis.modes import critical_share, largest_gap
from abtest.analysis.summary import summarize
from abtest.model.result import Verdict
from tools.calibration.worlds import ARMS, STALLED, World, as_records, normal, play, uniform

ROUNDS = (4, 6, 8)


@dataclass(frozen=True, slots=True)
class Share:
    """How often something happened."""

    hits: int
    runs: int

    @property
    def pct(self) -> float:
        return 100 * self.hits / self.runs

    @property
    def error_pct(self) -> float:
        """Two standard errors of the share, in points."""
        part = self.hits / self.runs
        return 200 * math.sqrt(part * (1 - part) / self.runs)


def false_winners(world: World, count: int, runs: int, seed: int) -> Share:
    """Run A/A experiments through the whole summary: how often does one arm win, though both are the same?"""
    rng = random.Random(seed)
    hits = 0
    for _ in range(runs):
        summary = summarize(
            as_records(play(world, count, 1.0, rng)),
            run="calibration", experiment="A/A", baseline=ARMS[0], arms=ARMS,
        )  # fmt: skip
        hits += summary.effects[0].verdict in (Verdict.FASTER, Verdict.SLOWER)
    return Share(hits, runs)


def coverage(world: World, count: int, runs: int, seed: int, ratio: float = 1.2) -> Share:
    """Count how often the interval of the ratio holds the truth."""
    rng = random.Random(seed)
    hits = 0
    for _ in range(runs):
        rounds = play(world, count, ratio, rng)
        found = effects.interval(rounds.old, rounds.new, rounds.shifts)
        hits += found is not None and found.low <= ratio <= found.high
    return Share(hits, runs)


def gate_errors(world: World, runs: int, seed: int, ratio: float = 1.05) -> tuple[Share, Share]:
    """Look at four, six and eight rounds of a candidate that is exactly as fast as asked.

    Returns:
        How often the gate would be met, and how often not met: each is an error, and should be 5 % at most.
    """
    rng = random.Random(seed)
    ends: Counter[str] = Counter()
    for _ in range(runs):
        rounds = play(world, LOOKS[-1], ratio, rng)
        logs = effects.log_ratios(rounds.old, rounds.new)
        ends[_gate(logs, math.log(ratio))] += 1
    return Share(ends["met"], runs), Share(ends["not met"], runs)


def _gate(logs: Sequence[float], asked: float) -> str:
    for look in LOOKS:
        seen = logs[:look]
        limits = gate.limits_around(moments.mean(seen), moments.standard_error(seen), look - 1)
        if limits.low >= math.exp(asked):
            return "met"
        if limits.high < math.exp(asked):
            return "not met"
    return "open"


Draw = Callable[[random.Random, int], list[float]]


def scattered(noise: Callable[[random.Random], float], sd: float) -> Draw:
    return lambda rng, count: [100 * (1 + sd * noise(rng)) for _ in range(count)]


def stalled(rng: random.Random, count: int) -> list[float]:
    """Ten per cent of the rounds lose 8 to 20 per cent, the others scatter by 1 %."""
    return [
        rng.gauss(100, 1) * (1 - rng.uniform(0.08, 0.20) * (rng.random() < STALLED))
        for _ in range(count)
    ]


def mixed(fast: float, sd: float) -> Draw:
    """Two modes 15 % apart; `fast` is the share of the faster one."""
    return lambda rng, count: [
        (100 if rng.random() < fast else 85) + rng.gauss(0, 100 * sd) for _ in range(count)
    ]


def drifting(rng: random.Random, count: int) -> list[float]:
    """Lose 2 % with every round, and scatter by 1 %."""
    return [100 * (1 - 0.02 * number) * (1 + rng.gauss(0, 0.01)) for number in range(count)]


def stepping(rng: random.Random, count: int) -> list[float]:
    """Lose 12 % half way, and scatter by 1 %."""
    return [(100 if 2 * n < count else 88) * (1 + rng.gauss(0, 0.01)) for n in range(count)]


TRUTHS: Mapping[str, Draw] = {
    "one mode, normal 1 %": scattered(normal, 0.01),
    "one mode, normal 2 %": scattered(normal, 0.02),
    "one mode, normal 5 %": scattered(normal, 0.05),
    "one mode, normal 8 %": scattered(normal, 0.08),
    "one mode, uniform 5 %": scattered(uniform, 0.05),
    "one mode, stalls": stalled,
    "two modes 50/50, 1 %": mixed(0.5, 0.01),
    "two modes 50/50, 2 %": mixed(0.5, 0.02),
    "two modes 50/50, 3 %": mixed(0.5, 0.03),
    "two modes 25/75, 2 %": mixed(0.75, 0.02),
    "drift 2 % per round": drifting,
    "step of 12 %": stepping,
}
STATES = ("ok", "suspect", "outlier", "drift", "bimodal")


def states(draw: Draw, count: int, runs: int, seed: int) -> Mapping[str, Share]:
    """Count what one look at so many rounds says of a cell."""
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    for _ in range(runs):
        found = classify(draw(rng, count))
        name = found[0].name if found else "ok"
        seen["suspect" if name == "unstable" else name] += 1
    return {state: Share(seen[state], runs) for state in STATES}


def wide_gaps(draw: Draw, count: int, runs: int, seed: int) -> Share:
    """Count how often one mode shows a gap that would count as two, whatever the spread."""
    rng = random.Random(seed)
    hits = 0
    for _ in range(runs):
        gap = largest_gap(draw(rng, count))
        hits += gap is not None and gap.share >= critical_share(count)
    return Share(hits, runs)

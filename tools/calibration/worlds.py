"""Worlds with a known truth: noise, drift, stalls and modes that are chosen; every draw comes from a seed."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from abtest.model.trial import Pair, RankIdentity, RouteCount, Status, TrialRecord
from abtest.plan import arm_order

ARMS = ("stock", "fast")
ROUND_SD = 0.01  # of the log rate, shared by both arms of a round: the machine's slow moods
STALLED = 0.1  # share of trials that a stall meets
STALL = (0.08, 0.20)  # and what it takes from the rate

Noise = Callable[[random.Random], float]


def normal(rng: random.Random) -> float:
    return rng.gauss(0, 1)


def t3(rng: random.Random) -> float:
    """Student's t with three degrees, scaled to a standard deviation of 1: heavy tails."""
    chi = math.fsum(rng.gauss(0, 1) ** 2 for _ in range(3))
    return rng.gauss(0, 1) / math.sqrt(chi / 3) / math.sqrt(3)


def uniform(rng: random.Random) -> float:
    return rng.uniform(-math.sqrt(3), math.sqrt(3))


@dataclass(frozen=True, slots=True)
class World:
    """How trials of both arms scatter.

    Args:
        noise: of one trial, standard deviation 1; `sd` is its size on the log rate.
        drift: change of the log rate per trial, in time.
        stalls: whether a trial in ten is slowed by 8 to 20 per cent, in either arm.
    """

    noise: Noise
    sd: float = 0.02
    drift: float = 0.0
    stalls: bool = False


WORLDS: Mapping[str, World] = {
    "normal": World(normal),
    "t, 3 degrees": World(t3),
    "normal, linear drift of 0.5 % per trial": World(normal, drift=-0.005),
    "normal, linear drift of 1 % per trial": World(normal, drift=-0.01),
    "normal, stalls in both arms": World(normal, stalls=True),
}


@dataclass(frozen=True, slots=True)
class Rounds:
    """Both arms' rates by round, and the slot in which each was measured."""

    old: list[float]
    new: list[float]
    old_slots: list[int]
    new_slots: list[int]

    @property
    def shifts(self) -> list[int]:
        return [new - old for old, new in zip(self.old_slots, self.new_slots, strict=True)]


def play(world: World, count: int, ratio: float, rng: random.Random) -> Rounds:
    """Run so many rounds in the order that the plan gives them."""
    found = Rounds([], [], [], [])
    for number in range(1, count + 1):
        mood = rng.gauss(0, ROUND_SD)
        for slot, arm in enumerate(arm_order(ARMS, number), start=1):
            log = mood + world.sd * world.noise(rng) + world.drift * (2 * number + slot)
            if world.stalls and rng.random() < STALLED:
                log += math.log1p(-rng.uniform(*STALL))
            rates, slots = (
                (found.old, found.old_slots) if arm == ARMS[0] else (found.new, found.new_slots)
            )
            rates.append(50.0 * (ratio if arm == ARMS[1] else 1.0) * math.exp(log))
            slots.append(slot)
    return found


def as_records(rounds: Rounds) -> list[TrialRecord]:
    """Write rates as proved trials of one pair each, so that the whole summary can be asked."""
    sides = (
        (ARMS[0], rounds.old, rounds.old_slots),
        (ARMS[1], rounds.new, rounds.new_slots),
    )
    return [
        TrialRecord(
            "calibration", f"{arm}-{number}", "-", arm, 512, 1, number, slot, 2 * number + slot,
            discarded=False, status=Status.OK, started_at="", isolation="docker", tokens=(8, 64),
            pairs=(Pair(0.5, 0.5 + 56 / rate, "short"),), identity=PROOF, routes=ROUTES,
            environment={"engine.tensor_parallel": "1"},
        )
        for arm, rates, slots in sides
        for number, (rate, slot) in enumerate(zip(rates, slots, strict=True), start=1)
    ]  # fmt: skip


PROOF = tuple(
    RankIdentity(0, 1, when, "k.py", "/k.py", "m", "s", "c", "c", match=True)
    for when in ("before", "after")
)
ROUTES = (RouteCount(0, "decode", {"split": True}, 1),)

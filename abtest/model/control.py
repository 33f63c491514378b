"""What says how far a set-up may be believed: its noise floor, and whether it finds what was planted."""

from dataclasses import dataclass
from enum import StrEnum

from abtest.model.names import Condition

# What a run is for, as `run.json` says it: to compare arms, a file with itself, or with a slow-down planted in it.
COMPARE = "ab"
SAME_FILE = "aa"
PLANTED = "control"


class Outcome(StrEnum):
    """What a control came to at one condition."""

    FOUND = "found"
    MISSED = "missed"
    TOO_NOISY = "too noisy"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """The same file in both arms, at one condition.

    Args:
        ratio: of mean rates, second arm over baseline, by the estimator that a verdict would rest on.
        floor_pct: the largest difference from 1 that the interval [low, high] holds, per cent: what is smaller
            cannot be told from nothing here.
        differs: the interval does not hold 1, though nothing differs.
    """

    condition: Condition
    rounds: int
    ratio: float
    low: float
    high: float
    floor_pct: float
    differs: bool


@dataclass(frozen=True, slots=True)
class ControlResult:
    """A planted slow-down at one condition, against what was found there.

    Args:
        planted_ms: per token: milliseconds per call times calls per token.
        calls_per_token: decode calls of the held-up function per step and rank, as recorded in the trials.
        baseline_ms: per token, mean over rounds.
        found_ms: mean over rounds of candidate minus baseline, per token; None where it was not measured.
        low_ms: lower end of its paired t interval at `level`; `high_ms` the upper one.
    """

    condition: Condition
    rounds: int
    per_call_ms: float
    calls_per_token: float
    planted_ms: float
    baseline_ms: float | None
    found_ms: float | None
    low_ms: float | None
    high_ms: float | None
    level: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class LastControl:
    """The newest run of a kind for the same image, host and isolation.

    Args:
        kind: "aa" or "control".
        run: its name; None where there is none.
    """

    kind: str
    run: str | None = None
    created: str | None = None
    floor: tuple[NoiseFloor, ...] = ()
    control: tuple[ControlResult, ...] = ()

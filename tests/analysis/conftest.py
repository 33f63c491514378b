"""Records of a published experiment, and of trials that a test makes up."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from abtest.analysis.summary import summarize
from abtest.model.result import Difference, Summary
from abtest.model.trial import Pair, RankIdentity, RouteCount, Status, TrialRecord

PUBLISHED = Path(__file__).resolve().parent.parent / "golden" / "published.csv"
FILES = Difference("file", {"stock": "k.py (md5 stockmd5)", "fast": "k.py (md5 fast-md5)"})


def published_records(digits: int | None = None) -> list[TrialRecord]:
    """Read the published times, rounded to so many decimals if a number is given."""

    def time_s(text: str) -> float:
        return float(text) if digits is None else round(float(text), digits)

    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        TrialRecord(
            "published", f"t{place}", "-", row["arm"], int(row["depth"]), 1, int(row["round"]),
            int(row["order_in_round"]), place, discarded=False, status=Status.OK, started_at="",
            isolation="imported", tokens=(8, 64),
            pairs=(Pair(time_s(row["t8_s"]), time_s(row["t64_s"]), "short"),),
        )
        for place, row in enumerate(rows, start=1)
    ]  # fmt: skip


def trial(arm: str, round_number: int, slot: int, rate: float, **change: object) -> TrialRecord:
    """A proved trial with one pair that gives this rate; any field may be replaced."""
    values: dict[str, object] = {
        "run": "demo", "trial": f"r{round_number}-{arm}", "spec_sha256": "-", "arm": arm,
        "depth": 512, "batch": 1, "round": round_number, "slot": slot, "order": 2 * round_number + slot,
        "discarded": False, "status": Status.OK, "started_at": "", "isolation": "docker",
        "tokens": (8, 64), "pairs": (Pair(0.5, 0.5 + 56 / rate, "short"),),
        "environment": {"engine.tensor_parallel": "2", "python": "3"},
        "identity": tuple(
            RankIdentity(rank, rank, when, "k.py", "/k.py", f"{arm}-md5-of-file", arm, "c", "c", match=True)
            for rank in (0, 1) for when in ("before", "after")
        ),
        "routes": (RouteCount(0, "decode", {"split": arm != "stock"}, 3),),
    }  # fmt: skip
    return TrialRecord(**{**values, **change})  # type: ignore[arg-type]  # the fields vary


def run_of(
    stock: Sequence[float], fast: Sequence[float], orders: str = "ABBA", **change: object
) -> list[TrialRecord]:
    """Blocks of two arms: "A" puts the baseline first in that round, "B" the candidate."""
    found = []
    for number, (old, new) in enumerate(zip(stock, fast, strict=True), start=1):
        first = orders[(number - 1) % len(orders)]
        sides = [("stock", old), ("fast", new)][:: 1 if first == "A" else -1]
        found += [
            trial(arm, number, slot, rate, **change)
            for slot, (arm, rate) in enumerate(sides, start=1)
        ]
    return found


def summary_of(records: Sequence[TrialRecord], **change: object) -> Summary:
    values: dict[str, object] = {
        "run": "demo", "experiment": "demo", "baseline": "stock", "arms": ("stock", "fast"),
        "declared": (FILES,),
    }  # fmt: skip
    return summarize(records, **{**values, **change})  # type: ignore[arg-type]  # the options vary


@pytest.fixture
def published() -> list[TrialRecord]:
    return published_records()


@pytest.fixture
def published_us() -> list[TrialRecord]:
    """The same times in whole microseconds: the golden numbers were worked out from those."""
    return published_records(6)


@pytest.fixture
def make_trial() -> Callable[..., TrialRecord]:
    return trial


@pytest.fixture
def make_run() -> Callable[..., list[TrialRecord]]:
    return run_of


@pytest.fixture
def summarise() -> Callable[..., Summary]:
    return summary_of

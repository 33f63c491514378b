"""The decision rule for one cell's rates: gate, drift, outlier, two modes, or suspect - in this order."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb

from abtest.analysis import moments
from abtest.analysis.drift import LEAST_ROUNDS, is_monotone, kendall_p, kendall_s, limit
from abtest.analysis.modes import (
    HALF_OF_RANGE,
    LEAST_SEPARATION_PCT,
    Gap,
    critical_share,
    largest_gap,
    p_gap_normal,
)
from abtest.analysis.spread import gate_pct, spread_pct, within_gate

CLASSIFIED_FROM = 6  # rounds from which two modes may be called
UNCLASSIFIED_BELOW = 4  # fewer rounds can only be suspect
LAST_LOOK = 12  # reruns go 2, 4, 8, 12 rounds; what is still unexplained then is final


@dataclass(frozen=True, slots=True)
class Finding:
    """One name with the figures that made it fire."""

    name: str
    figures: str


def classify(rates: Sequence[float], slots: Sequence[int] = ()) -> tuple[Finding, ...]:
    """Look at one cell's rates in time order; nothing found means that they lie within the gate.

    Args:
        rates: tokens per second, one per round, in time order.
        slots: the slot in which each was measured, as recorded; for `order-confounded`.
    """
    count = len(rates)
    spread = spread_pct(rates)
    if spread is None or within_gate(rates):
        return ()
    figures = f"spread {spread:.1f} % of the mean, {gate_pct(count):.1f} % allowed at n = {count}"
    if count < UNCLASSIFIED_BELOW:
        return (Finding("suspect", figures),)
    if count >= LEAST_ROUNDS:
        found = _drift(rates) or _outlier(rates) or _modes(rates, slots)
        if found:
            return found
    name = "suspect" if count < LAST_LOOK else "unstable"
    return (Finding(name, figures), *_patterns(rates))


def _patterns(rates: Sequence[float]) -> tuple[Finding, ...]:
    """What four or five rounds look like, without being enough to call it so."""
    count = len(rates)
    found = []
    gap = largest_gap(rates)
    if count < CLASSIFIED_FROM and gap is not None and gap.share >= HALF_OF_RANGE:
        found.append(
            Finding(
                "bimodal?",
                f"{_clusters(rates, gap)}; gap {gap.share:.2f} of the range, {_chance(gap, count)}",
            )
        )
    if count == UNCLASSIFIED_BELOW and is_monotone(rates):
        found.append(
            Finding(
                "drift?",
                f"every round moved the same way, p = {kendall_p(kendall_s(rates), count):.2f}",
            )
        )
    return tuple(found)


def _drift(rates: Sequence[float]) -> tuple[Finding, ...]:
    count, s = len(rates), kendall_s(rates)
    if abs(s) < limit(count):
        return ()
    return (
        Finding("drift", f"Kendall S = {s} over {count} rounds, p = {kendall_p(s, count):.3f}"),
    )


def _outlier(rates: Sequence[float]) -> tuple[Finding, ...]:
    ordered = sorted(rates)
    span = ordered[-1] - ordered[0]
    ends = (
        (ordered[1:], ordered[0], ordered[1] - ordered[0]),
        (ordered[:-1], ordered[-1], ordered[-1] - ordered[-2]),
    )
    for rest, value, gap in ends:
        if within_gate(rest) and gap > HALF_OF_RANGE * span:
            number = list(rates).index(value) + 1
            return (
                Finding(
                    "outlier",
                    f"{value:.2f} tok/s, number {number} in time, the others lie within the gate; "
                    f"mean {moments.mean(rates):.2f}, median {statistics.median(rates):.2f}",
                ),
            )
    return ()


def _modes(rates: Sequence[float], slots: Sequence[int]) -> tuple[Finding, ...]:
    gap = largest_gap(rates)
    count = len(rates)
    if (
        count < CLASSIFIED_FROM
        or gap is None
        or gap.share < critical_share(count)
        or gap.width_pct < LEAST_SEPARATION_PCT
    ):
        return ()
    ordered = sorted(rates)
    if not (within_gate(ordered[: gap.below]) and within_gate(ordered[gap.below :])):
        return ()
    figures = f"{_clusters(rates, gap)}; gap {gap.share:.2f} of the range, p = {gap.p:.4f}"
    fast = [rate >= ordered[gap.below] for rate in rates]
    if sum(before != after for before, after in pairwise(fast)) == 1:
        return (Finding("drift", f"a step: {figures}"),)
    confounded = _follows_order(fast, slots)
    extra = (
        (
            Finding(
                "order-confounded",
                f"each mode was measured in one slot only, p = {_order_p(fast, slots):.3f}",
            ),
        )
        if confounded
        else ()
    )
    return (Finding("bimodal", figures), *extra)


def _follows_order(fast: Sequence[bool], slots: Sequence[int]) -> bool:
    """Tell whether the slot alone says which mode a round fell into."""
    if len(slots) != len(fast) or len(set(slots)) < 2:  # noqa: PLR2004 - one slot explains nothing
        return False
    by_slot: dict[int, set[bool]] = {}
    for slot, mode in zip(slots, fast, strict=True):
        by_slot.setdefault(slot, set()).add(mode)
    return all(len(modes) == 1 for modes in by_slot.values())


def _order_p(fast: Sequence[bool], slots: Sequence[int]) -> float:
    """Compute the chance that a random split of these sizes falls on whole slots."""
    sizes = list(Counter(slots).values())
    whole = sum(
        sum(chosen) == sum(fast)
        for number in range(len(sizes) + 1)
        for chosen in combinations(sizes, number)
    )
    return whole / comb(len(fast), sum(fast))


def _chance(gap: Gap, count: int) -> str:
    """Say how easily one mode shows such a gap; four rounds are exact under two shapes of noise."""
    text = f"p = {gap.p:.2f} for flat noise"
    four = f", {p_gap_normal(gap.share):.2f} for normal noise"
    return text + four if count == UNCLASSIFIED_BELOW else text


def _clusters(rates: Sequence[float], gap: Gap) -> str:
    ordered = sorted(rates)
    low, high = ordered[: gap.below], ordered[gap.below :]
    return f"{len(low)} rounds near {sum(low) / len(low):.2f} and {len(high)} near {sum(high) / len(high):.2f} tok/s"

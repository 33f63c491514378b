"""Gates: is a candidate faster by at least so much, judged at a few looks that are fixed beforehand.

At a look at n rounds the paired t limits of the mean log ratio are taken at a one-sided level that keeps the
chance of a wrong answer over all looks at 5 %; a naive 5 % at each of them would give 9.7 %. A cell with two modes
is judged by its worst pair: the candidate's slow mode against the baseline's fast one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from abtest.analysis import moments
from abtest.analysis.classify import classify
from abtest.analysis.counting import count
from abtest.analysis.effects import t_quantile, welch_terms
from abtest.analysis.modes import largest_gap
from abtest.analysis.proof import PROVED
from abtest.analysis.summary import summarize
from abtest.analysis.verdict import FORBIDDING
from abtest.model.gate import Decision, Gate, GateResult, Look
from abtest.model.names import Cell
from abtest.model.result import Effect, Summary, Verdict
from abtest.model.trial import TrialRecord

LOOKS = (4, 6, 8)
# One-sided, per look: 5 % over looks at 4, 6 and 8 (simulated, 400 000 runs). Fewer looks stay below 5 %.
LEVEL = 0.0238
OVERALL = 0.05
CURED_BY_ROUNDS = frozenset({"one-order-only"})


@dataclass(frozen=True, slots=True)
class Limits:
    """Between which ratios the truth lies, as far as one look can tell."""

    low: float
    high: float
    note: str = ""


def judge(
    gates: Sequence[Gate],
    summary: Summary,
    records: Sequence[TrialRecord],
    cap: int = LOOKS[-1],
) -> tuple[GateResult, ...]:
    """Judge every gate at each of its cells that the summary holds.

    Args:
        summary: of all these records.
        records: standing ones, in time order.
        cap: no more rounds than these are asked for, or looked at.
    """
    effects = {Cell(one.candidate, one.condition): one for one in summary.effects}
    conditions = list(dict.fromkeys(one.condition for one in summary.effects))
    return tuple(
        _judge_cell(gate, effects[cell], summary, records, cap)
        for gate in gates
        for cell in gate.cells(conditions)
        if cell in effects
    )


def _judge_cell(
    gate: Gate, effect: Effect, summary: Summary, records: Sequence[TrialRecord], cap: int
) -> GateResult:
    cell = Cell(effect.candidate, effect.condition)
    own = [one for one in records if one.condition == cell.condition and one.arm in summary.arms]
    whole = sorted(count(own, summary.arms).whole.get(cell.condition, ()))
    following = next((n for n in LOOKS if len(whole) < n <= cap), None)

    def result(decision: Decision, why: str, more: int | None, *looks: Look) -> GateResult:
        if decision is Decision.MET and summary.identity != PROVED:
            why += f"; identity: {summary.identity}"  # a pass without proof must not read like one with it
        return GateResult(gate, cell, decision, looks, len(whole), more, why)

    if effect.verdict is Verdict.INVALID:
        names = ", ".join(sorted(one.name for one in (*summary.flags, *effect.flags)))
        return result(Decision.UNPROVED, f"the trials are not proved: {names}", None)
    hopeless = sorted(effect.bearing & (FORBIDDING - CURED_BY_ROUNDS))
    if hopeless:
        why = f"nothing may be compared: {', '.join(hopeless)}; more rounds cannot help"
        return result(Decision.INCONCLUSIVE, why, None)
    looks: list[Look] = []
    for n in (n for n in LOOKS if n <= min(cap, len(whole))):
        looks.append(_look(_effect_then(cell, summary, own, whole[n - 1]), n))
        decision = _decide(looks[-1], gate.ratio)
        if decision is not Decision.INCONCLUSIVE:
            side, limit = (
                ("lower", looks[-1].low) if decision is Decision.MET else ("upper", looks[-1].high)
            )
            return result(decision, f"{side} limit {limit:.4f} at n = {n}", None, *looks)
    why = (
        f"undecided after {len(looks)} looks"
        if looks
        else f"{len(whole)} whole blocks, the first look needs {LOOKS[0]}"
    )
    return result(Decision.INCONCLUSIVE, why, following, *looks)


def _effect_then(
    cell: Cell, summary: Summary, own: Sequence[TrialRecord], last_round: int
) -> Effect:
    """Recompute the effect as it was at an earlier look."""
    then = summarize(
        own,
        run=summary.run,
        experiment=summary.experiment,
        baseline=summary.baseline,
        arms=summary.arms,
        declared=summary.declared_difference,
        rounds=(1, last_round),
    )
    return next(one for one in then.effects if one.candidate == cell.arm)


def _decide(look: Look, ratio: float) -> Decision:
    if look.low is not None and look.low >= ratio:
        return Decision.MET
    if look.high is not None and look.high < ratio:
        return Decision.NOT_MET
    return Decision.INCONCLUSIVE


def _look(effect: Effect, n: int) -> Look:
    pairs = effect.basis_rates_tok_s
    names = effect.bearing
    blocked = sorted(names & FORBIDDING)
    if {"drift", "order-unbalanced"} <= names:
        blocked.append("drift with an unbalanced order")
    if blocked or len(pairs) != n:
        note = ", ".join(blocked) or f"{len(pairs)} of {n} rounds have a rate of both arms"
        return Look(n, None, None, None, LEVEL, note)
    old, new = zip(*pairs, strict=True)
    ratio = math.exp(moments.mean(_logs(old, new)))
    limits = _limits(old, new, names)
    return Look(n, ratio, limits.low, limits.high, LEVEL, limits.note)


def _limits(old: Sequence[float], new: Sequence[float], names: frozenset[str]) -> Limits:
    logs = _logs(old, new)
    plain = limits_around(moments.mean(logs), moments.standard_error(logs), len(logs) - 1)
    modal = names & {"bimodal", "bimodal?"}
    slow, fast = _mode(new, names, slow=True), _mode(old, names, slow=False)
    terms = welch_terms(fast, slow) if modal else None
    if terms is None:
        return plain
    worst = limits_around(*terms)
    note = f"worst pair of modes, {len(slow)} slow rounds of the candidate against {len(fast)} fast ones of the baseline"
    if "bimodal" in modal:
        return Limits(worst.low, worst.high, note)
    # Four or five rounds cannot tell two modes from noise: they may delay a pass, never make a failure.
    return Limits(min(plain.low, worst.low), plain.high, f"lower limit by the {note}")


def _mode(rates: Sequence[float], names: frozenset[str], *, slow: bool) -> Sequence[float]:
    """Give the rounds of one mode where this arm has two; all of its rounds otherwise."""
    found = {one.name for one in classify(rates)} & names & {"bimodal", "bimodal?"}
    gap = largest_gap(rates)
    if not found or gap is None:
        return rates
    ordered = sorted(rates)
    return ordered[: gap.below] if slow else ordered[gap.below :]


def _logs(old: Sequence[float], new: Sequence[float]) -> list[float]:
    return [math.log(b / a) for a, b in zip(old, new, strict=True)]


def limits_around(center: float, error: float, degrees: float) -> Limits:
    """Give one look's limits.

    Args:
        center: mean of the logarithms of the rounds' ratios.
        error: its standard error.
    """
    half = t_quantile(degrees, 1 - LEVEL) * error
    return Limits(math.exp(center - half), math.exp(center + half))

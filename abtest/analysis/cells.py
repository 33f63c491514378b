"""One cell over its rounds: rates in time order, spread, leverage, and what is odd about them."""

from collections.abc import Sequence

from abtest.analysis import moments, variance, whereabouts
from abtest.analysis.classify import UNCLASSIFIED_BELOW, classify
from abtest.analysis.differential import (
    PREFILL_DOMINATED,
    TrialEstimate,
    amplification,
    drowned,
    explaining_jitter_s,
    tolerable_jitter_pct,
    window_tokens,
)
from abtest.analysis.explain import flag, flags_of
from abtest.analysis.modes import unseen_p
from abtest.analysis.spread import gate_pct, spread_pct, within_gate
from abtest.model.flag import Flag
from abtest.model.names import Cell
from abtest.model.result import CellSummary, Scatter
from abtest.model.trial import TrialRecord

ESTIMATORS_DISAGREE_SE = 2.0  # standard errors between the two estimators
DISAGREEMENT_IGNORED = (
    0.01  # a bias of less than one per cent changes no verdict that is not close anyway
)


def summarize_cell(
    cell: Cell, records: Sequence[TrialRecord], estimates: Sequence[TrialEstimate], voids: int
) -> CellSummary:
    """Summarise one cell.

    Args:
        records: counted records of the cell, in time order.
        estimates: what each of them says.
        voids: how many trials of the cell were void.
    """
    usable = [
        (record, one)
        for record, one in zip(records, estimates, strict=True)
        if one.rate_tok_s is not None
    ]
    rates = tuple([one.rate_tok_s for _, one in usable if one.rate_tok_s is not None])
    mean = moments.mean(rates) if rates else None
    short_s = [value for _, one in usable for value in one.short_s]
    all_differences_s = [one.difference_s for _, one in usable]
    leverage = moments.mean(short_s) / moments.mean(all_differences_s) if usable else None
    slots = tuple(record.slot for record, _ in usable)
    stamped = [one.timestamps_tok_s for _, one in usable]
    split = variance.components([one.differences_s for _, one in usable])
    return CellSummary(
        cell=cell,
        n=len(rates),
        voids=voids,
        rounds=tuple(record.round for record, _ in usable),
        rates_tok_s=rates,
        slots=slots,
        mean_tok_s=mean,
        ms_per_token=None if mean is None else 1000 / mean,
        spread_pct=spread_pct(rates),
        gate_pct=gate_pct(len(rates)) if len(rates) > 1 else None,
        leverage=leverage,
        within_se_pct=_mean_or_none([one.within_se_pct for _, one in usable]),
        timestamps_tok_s=tuple(rate for rate in stamped if rate is not None)
        if None not in stamped
        else (),
        scatter=None if split is None else _scatter(split, moments.mean(all_differences_s)),
        flags=_flags(cell, records, estimates, (rates, slots, leverage), split),
    )


def _scatter(split: variance.Components, mean_s: float) -> Scatter:
    within_pct, between_pct = (100 * part / mean_s for part in (split.within, split.between))
    return Scatter(within_pct, between_pct, split.f, split.p, split.degrees)


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return moments.mean(known) if known and len(known) == len(values) else None


def _flags(
    cell: Cell,
    records: Sequence[TrialRecord],
    estimates: Sequence[TrialEstimate],
    seen: tuple[tuple[float, ...], tuple[int, ...], float | None],
    split: variance.Components | None,
) -> tuple[Flag, ...]:
    rates, slots, leverage = seen
    where = str(cell)
    found: list[Flag] = []
    lost = sum(one.rate_tok_s is None for one in estimates)
    jitter_s = _pooled_jitter_s(estimates)
    if lost:
        found.append(flag("drowned", where, f"{lost} trials have T_long no larger than T_short"))
    elif jitter_s and any(drowned(one.difference_s, jitter_s) for one in estimates):
        found.append(flag("drowned", where, f"a run jitters by {1000 * jitter_s:.1f} ms"))
    noise = _noise_limited(cell, split, rates)
    found += [noise] if noise is not None else flags_of(classify(rates, slots), where)
    if rates and not within_gate(rates):
        found = [*found[:-1], _explained(found[-1], records, estimates)]
    if leverage is not None and leverage > PREFILL_DOMINATED:
        found.append(
            flag("prefill-dominated", where, _dominated(leverage, jitter_s, records[0], rates))
        )
    disagreement = _disagreement(estimates)
    if disagreement is not None:
        found.append(flag("estimators-disagree", where, disagreement))
    if 0 < len(rates) < UNCLASSIFIED_BELOW:
        found.append(flag("few-rounds", where, _unseen(len(rates))))
    return tuple(found)


def _dominated(
    leverage: float, jitter_s: float | None, record: TrialRecord, rates: Sequence[float]
) -> str:
    """Say how strong the amplification is, and which long count would leave one per cent of error."""
    text = f"leverage {leverage:.1f}: a run's jitter counts {amplification(leverage):.1f}-fold"
    if len(record.pairs) == 1:
        return f"{text}; one pair does not measure it, and above {tolerable_jitter_pct(leverage):.2f} % it breaks the gate"
    if not jitter_s or not rates:
        return text
    longer = window_tokens(jitter_s, 1 / moments.mean(rates), len(record.pairs), record.tokens[0])
    if longer <= record.tokens[1]:
        return text
    return f"{text}; about {longer} long tokens would bring the error of a trial to 1 %"


def _unseen(count: int) -> str:
    return f"n = {count}: two modes of equal weight go unseen with p = {unseen_p(count):.2f}"


def _pooled_jitter_s(estimates: Sequence[TrialEstimate]) -> float | None:
    """Pool the jitter of one run, in seconds, over trials with two or more pairs."""
    known = [
        (len(one.differences_s) - 1, one.deviation_s)
        for one in estimates
        if one.deviation_s is not None
    ]
    total = sum(degrees for degrees, _ in known)
    squares = sum(degrees * value**2 for degrees, value in known)
    return (
        (squares / total / 2) ** 0.5 if total else None
    )  # a difference has the jitter of two runs


def _noise_limited(
    cell: Cell, split: variance.Components | None, rates: Sequence[float]
) -> Flag | None:
    """With several pairs per trial, ask first whether sandboxes differ at all, before speaking of modes."""
    if within_gate(rates) or split is None or split.significant:
        return None
    figures = f"F{split.degrees} = {split.f:.2f}, p = {split.p:.2f}; spread {spread_pct(rates) or 0:.1f} %"
    return flag("noise-limited", str(cell), figures)


def _explained(
    last: Flag, records: Sequence[TrialRecord], estimates: Sequence[TrialEstimate]
) -> Flag:
    """Add the prefill jitter that would explain the spread by itself."""
    jitter_s = explaining_jitter_s([one.difference_s for one in estimates])
    short_s = moments.mean([value for one in estimates for value in one.short_s])
    if jitter_s is None or not short_s:
        return last  # a time without any prefill has no prefill jitter
    text = f"; jitter of {1000 * jitter_s:.1f} ms ({100 * jitter_s / short_s:.2f} % of T_short) per run would explain it"
    text += whereabouts.of_spread(records, estimates)
    return Flag(last.name, last.where, last.figures + text, last.why, last.remedy)


def _disagreement(estimates: Sequence[TrialEstimate]) -> str | None:
    """Compare the two estimators over trials; None where they agree, or cannot be compared."""
    logs = [
        one.rate_tok_s / one.timestamps_tok_s - 1
        for one in estimates
        if one.rate_tok_s is not None and one.timestamps_tok_s is not None
    ]
    if len(logs) < UNCLASSIFIED_BELOW or len(logs) != len(estimates):
        return None
    error = moments.standard_error(logs)
    mean = moments.mean(logs)
    if abs(mean) <= max(ESTIMATORS_DISAGREE_SE * error, DISAGREEMENT_IGNORED):
        return None
    return f"the differential is {100 * mean:+.1f} % against the time stamps, standard error {100 * error:.1f} %"

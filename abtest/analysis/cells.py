"""One cell over its rounds: rates in time order, spread, leverage, and what is odd about them."""

from collections.abc import Sequence
from itertools import chain, compress

from abtest.analysis import moments, variance, whereabouts
from abtest.analysis.classify import UNCLASSIFIED_BELOW, classify
from abtest.analysis.columns import Columns
from abtest.analysis.differential import (
    PREFILL_DOMINATED,
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
    cell: Cell, records: Sequence[TrialRecord], estimates: Columns, voids: int
) -> CellSummary:
    """Summarise one cell.

    Args:
        records: counted records of the cell, in time order.
        estimates: what each of them says.
        voids: how many trials of the cell were void.
    """
    good, usable = _usable(records, estimates)
    rates = tuple([rate for rate in usable.rate_tok_s if rate is not None])
    mean = moments.mean(rates) if rates else None
    short_s = list(chain.from_iterable(usable.short_s))
    leverage = moments.mean(short_s) / moments.mean(usable.difference_s) if rates else None
    slots = tuple([record.slot for record in good])
    split = variance.components(usable.differences_s)
    return CellSummary(
        cell=cell,
        n=len(rates),
        voids=voids,
        rounds=tuple([record.round for record in good]),
        rates_tok_s=rates,
        slots=slots,
        mean_tok_s=mean,
        ms_per_token=None if mean is None else 1000 / mean,
        spread_pct=spread_pct(rates),
        gate_pct=gate_pct(len(rates)) if len(rates) > 1 else None,
        leverage=leverage,
        within_se_pct=_mean_or_none(usable.within_se_pct),
        timestamps_tok_s=_known(usable.timestamps_tok_s) or (),
        scatter=None if split is None else _scatter(split, moments.mean(usable.difference_s)),
        flags=_flags(cell, records, estimates, (rates, slots, leverage), split),
    )


def _usable(
    records: Sequence[TrialRecord], estimates: Columns
) -> tuple[Sequence[TrialRecord], Columns]:
    """Leave out trials without a rate."""
    if None not in estimates.rate_tok_s:
        return records, estimates
    rated = [rate is not None for rate in estimates.rate_tok_s]
    return list(compress(records, rated)), estimates.only(rated)


def _scatter(split: variance.Components, mean_s: float) -> Scatter:
    within_pct, between_pct = (100 * part / mean_s for part in (split.within, split.between))
    return Scatter(within_pct, between_pct, split.f, split.p, split.degrees)


def _known(values: Sequence[float | None]) -> tuple[float, ...] | None:
    """Give values of which none is missing."""
    known = tuple([value for value in values if value is not None])
    return known if len(known) == len(values) else None


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    known = _known(values)
    return moments.mean(known) if known else None


def _flags(
    cell: Cell,
    records: Sequence[TrialRecord],
    estimates: Columns,
    seen: tuple[tuple[float, ...], tuple[int, ...], float | None],
    split: variance.Components | None,
) -> tuple[Flag, ...]:
    rates, slots, leverage = seen
    where = str(cell)
    found: list[Flag] = []
    lost = estimates.rate_tok_s.count(None)
    jitter_s = _pooled_jitter_s(estimates)
    if lost:
        found.append(flag("drowned", where, f"{lost} trials have T_long no larger than T_short"))
    elif jitter_s and any(drowned(one_s, jitter_s) for one_s in estimates.difference_s):
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


def _pooled_jitter_s(estimates: Columns) -> float | None:
    """Pool the jitter of one run, in seconds, over trials with two or more pairs."""
    known = [
        (len(own_s) - 1, deviation_s)
        for own_s, deviation_s in zip(estimates.differences_s, estimates.deviation_s, strict=True)
        if deviation_s is not None
    ]
    total = sum([degrees for degrees, _ in known])
    squares = sum([degrees * value**2 for degrees, value in known])
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


def _explained(last: Flag, records: Sequence[TrialRecord], estimates: Columns) -> Flag:
    """Add the prefill jitter that would explain the spread by itself."""
    jitter_s = explaining_jitter_s(estimates.difference_s)
    short_s = moments.mean(list(chain.from_iterable(estimates.short_s)))
    if jitter_s is None or not short_s:
        return last  # a time without any prefill has no prefill jitter
    text = f"; jitter of {1000 * jitter_s:.1f} ms ({100 * jitter_s / short_s:.2f} % of T_short) per run would explain it"
    text += whereabouts.of_spread(records, estimates)
    return Flag(last.name, last.where, last.figures + text, last.why, last.remedy)


def _disagreement(estimates: Columns) -> str | None:
    """Compare the two estimators over trials; None where they agree, or cannot be compared."""
    rates, stamped = _known(estimates.rate_tok_s), _known(estimates.timestamps_tok_s)
    if rates is None or stamped is None or len(rates) < UNCLASSIFIED_BELOW:
        return None
    logs = [rate / stamp - 1 for rate, stamp in zip(rates, stamped, strict=True)]
    error = moments.standard_error(logs)
    mean = moments.mean(logs)
    if abs(mean) <= max(ESTIMATORS_DISAGREE_SE * error, DISAGREEMENT_IGNORED):
        return None
    return f"the differential is {100 * mean:+.1f} % against the time stamps, standard error {100 * error:.1f} %"

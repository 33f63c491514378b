"""Effects from cells: which rounds may be compared, on which estimator a verdict rests, what bears on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from abtest.analysis import effects, moments
from abtest.analysis.classify import classify
from abtest.analysis.counting import Counted
from abtest.analysis.differential import PREFILL_DOMINATED
from abtest.analysis.explain import flag
from abtest.analysis.verdict import DISTURBED, FORBIDDING, INVALIDATING, verdict
from abtest.model.flag import Flag
from abtest.model.names import Cell, Condition
from abtest.model.result import CellSummary, Effect, Interval, Verdict

TIMESTAMPS = "timestamps"
DIFFERENTIAL = "differential"


@dataclass(frozen=True, slots=True)
class _Arm:
    """One arm's rounds as they enter an effect: all three by round."""

    rates: Mapping[int, float]
    stamped: Mapping[int, float]
    slots: Mapping[int, int]


def compare(
    cells: Mapping[Cell, CellSummary],
    baseline: str,
    counted: Counted,
    run_flags: Sequence[Flag],
    condition_flags: Mapping[Condition, Sequence[Flag]],
    *,
    imported: bool,
) -> tuple[Effect, ...]:
    """Give one effect per candidate and condition.

    Args:
        cells: every arm at every condition, in the order of the table.
        run_flags: of the whole run; they bear on every effect.
        condition_flags: of one condition, or one candidate there; they bear on those effects.
        imported: foreign figures may hold rounds of one arm alone; ours enter by whole blocks only.
    """
    return tuple(
        _effect(
            (cells[Cell(baseline, cell.condition)], cells[cell]),
            None if imported else counted,
            run_flags,
            own=tuple(
                one
                for one in condition_flags.get(cell.condition, ())
                if one.where in (str(cell), str(cell.condition))
            ),
        )
        for cell in cells
        if cell.arm != baseline
    )


def _effect(
    pair: tuple[CellSummary, CellSummary],
    counted: Counted | None,
    run_flags: Sequence[Flag],
    own: tuple[Flag, ...],
) -> Effect:
    condition = pair[0].cell.condition
    base, candidate = (_arm(cell, counted) for cell in pair)
    found = [*own, *_order_flags(base, candidate, str(condition))]
    stamped = _rest_on_timestamps(pair, base, candidate)
    if stamped:
        found.append(flag("verdict-by-timestamps", str(condition), _leverages(pair)))
    names = {one.name for one in (*run_flags, *found)} | _cell_names(pair, stamped=stamped)
    rounds = (len(base.rates), len(candidate.rates))
    bare = Effect(
        baseline=pair[0].cell.arm,
        candidate=pair[1].cell.arm,
        condition=condition,
        speedup=None,
        interval=None,
        verdict=Verdict.INVALID if names & INVALIDATING else Verdict.INCONCLUSIVE,
        flags=tuple(found),
        rounds=rounds,
        bearing=frozenset(names),
    )
    # One order only forbids a verdict; the ratio is still what was observed, and its flag stands beside it.
    if not all(rounds) or names & (INVALIDATING | (FORBIDDING - {"one-order-only"})):
        return bare
    return _measured(bare, base, candidate, names, stamped=stamped)


def _measured(
    bare: Effect, base: _Arm, candidate: _Arm, names: set[str], *, stamped: bool
) -> Effect:
    shifts = _shifts(base, candidate)
    old, new = list(base.rates.values()), list(candidate.rates.values())
    basis = (base.stamped, candidate.stamped) if stamped else (base.rates, candidate.rates)
    basis_old, basis_new = (list(rates.values()) for rates in basis)
    interval = _interval(basis_old, basis_new, shifts, disturbed=bool(names & DISTURBED))
    paired = len(basis_old) == len(basis_new)
    return replace(
        bare,
        speedup=effects.speedup(old, new),
        interval=interval,
        verdict=verdict(interval, names, min(bare.rounds)),
        speedup_mean_times=effects.speedup_of_mean_times(old, new),
        slot_effect_pct=effects.slot_effect_pct(effects.log_ratios(basis_old, basis_new), shifts)
        if paired
        else None,
        basis=TIMESTAMPS if stamped else DIFFERENTIAL,
        basis_speedup=effects.speedup(basis_old, basis_new),
        basis_rates_tok_s=tuple(
            (rate, basis[1][number]) for number, rate in basis[0].items() if number in basis[1]
        ),
    )


def _interval(
    base: Sequence[float], candidate: Sequence[float], shifts: Sequence[int], *, disturbed: bool
) -> Interval | None:
    """Use the range of all ratios where a cell is disturbed: a t interval would assume what was just doubted."""
    if disturbed and min(len(base), len(candidate)) > 1:
        return effects.extremes(base, candidate)
    return effects.interval(base, candidate, shifts)


def _arm(cell: CellSummary, counted: Counted | None) -> _Arm:
    """Keep the rounds of whole blocks, in the order of rounds; all of them where blocks do not matter."""
    whole = set(cell.rounds) if counted is None else counted.whole.get(cell.cell.condition, ())
    places = sorted(
        [(number, place) for place, number in enumerate(cell.rounds) if number in whole]
    )
    stamps = cell.timestamps_tok_s
    return _Arm(
        rates={number: cell.rates_tok_s[place] for number, place in places},
        stamped={number: stamps[place] for number, place in places} if stamps else {},
        slots={number: cell.slots[place] for number, place in places},
    )


def _shifts(base: _Arm, candidate: _Arm) -> list[int]:
    """Give the candidate's slot minus the baseline's, for the rounds that both have."""
    return [
        candidate.slots[number] - base.slots[number]
        for number in base.slots
        if number in candidate.slots
    ]


def _order_flags(base: _Arm, candidate: _Arm, where: str) -> list[Flag]:
    sizes = (len(base.rates), len(candidate.rates))
    if all(sizes) and base.rates.keys() != candidate.rates.keys():
        return [flag("unpaired", where, f"{sizes[1]} rounds against {sizes[0]}")]
    shifts = _shifts(base, candidate)
    if len(shifts) < 2:  # noqa: PLR2004 - one round has one order
        return []
    if len({shift > 0 for shift in shifts}) == 1:
        place = "after" if shifts[0] > 0 else "before"
        return [flag("one-order-only", where, f"always {place} the baseline, {len(shifts)} rounds")]
    mean_shift = moments.mean(shifts)
    if mean_shift == 0:
        return []
    text = f"mean shift of the candidate {mean_shift:+.2f} slots"
    ratios = effects.log_ratios(list(base.rates.values()), list(candidate.rates.values()))
    beta_pct = effects.slot_effect_pct(ratios, shifts)
    if beta_pct is not None:
        text += f", order effect about {beta_pct:+.1f} % per slot"
    return [flag("order-unbalanced", where, text)]


def _rest_on_timestamps(pair: tuple[CellSummary, CellSummary], base: _Arm, candidate: _Arm) -> bool:
    """Apply the rule that was fixed beforehand: leverage above 3 in either arm, time stamps in every trial."""
    high = any((cell.leverage or 0.0) > PREFILL_DOMINATED for cell in pair)
    return high and bool(base.stamped) and bool(candidate.stamped)


def _leverages(pair: tuple[CellSummary, CellSummary]) -> str:
    return ", ".join(f"{cell.cell.arm} {cell.leverage or 0.0:.1f}" for cell in pair)


def _cell_names(pair: tuple[CellSummary, CellSummary], *, stamped: bool) -> set[str]:
    """Name what disturbs either cell, judged on the estimator that the verdict rests on."""
    names = {one.name for cell in pair for one in cell.flags}
    if not stamped:
        return names
    on_stamps = {
        finding.name for cell in pair for finding in classify(cell.timestamps_tok_s, cell.slots)
    }
    return (names - DISTURBED) | on_stamps

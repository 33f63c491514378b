"""What the analysis says: cells, effects, verdicts, and the summary that holds them."""

from dataclasses import dataclass, field
from enum import StrEnum

from abtest.model.control import ControlResult, LastControl, NoiseFloor
from abtest.model.flag import Flag
from abtest.model.gate import GateResult
from abtest.model.names import Cell, Condition


class Verdict(StrEnum):
    """What may be said of an effect."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Scatter:
    """Where the scatter of a cell's differences comes from, by pairs inside a trial and trials.

    Args:
        within_pct: standard deviation of one pair inside a sandbox, per cent of the mean difference.
        between_pct: standard deviation between sandboxes, the same; 0 where none is seen.
        f: mean square between over mean square within; `p` its chance where sandboxes do not differ.
        degrees: of freedom, between and within.
    """

    within_pct: float
    between_pct: float
    f: float
    p: float
    degrees: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CellSummary:
    """One cell over its counted rounds, in time order.

    Args:
        rounds: the round of each rate.
        rates_tok_s: one rate per counted trial, tokens per second and sequence.
        slots: the slot of each trial in its block.
        mean_tok_s: arithmetic mean of the rates.
        ms_per_token: 1000 / mean_tok_s.
        spread_pct: 100 * (max - min) / mean; None for one round.
        gate_pct: the spread that the number of rounds allows; None for one round.
        leverage: mean T_short over mean difference; None without pairs.
        within_se_pct: standard error inside a trial, per cent of the rate; None for one pair.
        timestamps_tok_s: the same rates by time stamps, where every trial recorded them.
        scatter: inside against between sandboxes; None without several trials of several pairs each.
    """

    cell: Cell
    n: int
    voids: int
    rounds: tuple[int, ...]
    rates_tok_s: tuple[float, ...]
    slots: tuple[int, ...]
    mean_tok_s: float | None
    ms_per_token: float | None
    spread_pct: float | None
    gate_pct: float | None
    leverage: float | None
    within_se_pct: float | None
    timestamps_tok_s: tuple[float, ...] = ()
    scatter: Scatter | None = None
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a ratio; `level` is its coverage, `method` how it was made."""

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, slots=True)
class Effect:
    """Candidate over baseline at one condition.

    Args:
        speedup: ratio of arithmetic mean rates; None where it cannot be had or must not be printed.
        rounds: how many rounds of the baseline and of the candidate it rests on.
        speedup_mean_times: the same ratio from mean times per token.
        slot_effect_pct: by how much running one slot later changed a rate; None where it cannot be told.
        basis: the estimator that interval and verdict rest on, "differential" or "timestamps".
        basis_speedup: the ratio by that estimator.
        basis_rates_tok_s: by that estimator, (baseline, candidate) per round that both have, in order.
        bearing: names of all flags that bear on it: of the run, the condition and both cells.
    """

    baseline: str
    candidate: str
    condition: Condition
    speedup: float | None
    interval: Interval | None
    verdict: Verdict
    flags: tuple[Flag, ...] = ()
    rounds: tuple[int, int] = (0, 0)
    speedup_mean_times: float | None = None
    slot_effect_pct: float | None = None
    basis: str = "differential"
    basis_speedup: float | None = None
    basis_rates_tok_s: tuple[tuple[float, float], ...] = ()
    bearing: frozenset[str] = frozenset()

    @property
    def old_cell(self) -> Cell:
        return Cell(self.baseline, self.condition)

    @property
    def new_cell(self) -> Cell:
        return Cell(self.candidate, self.condition)


@dataclass(frozen=True, slots=True)
class DepthTrend:
    """How one arm's rate falls with depth.

    Args:
        depths: every depth with a counted round, from shallow to deep.
        retention_pct: mean rate at the deepest depth in per cent of that at the shallowest.
        slope_ms_per_1000: milliseconds per token for each 1000 tokens of depth, between the ends.
        slope_se_ms_per_1000: its standard error; None for a depth with one round.
        slope_ls_ms_per_1000: the same slope by least squares over all depths.
        residuals_ms: what that line leaves over at each depth.
        kv_bytes_per_position: what each decode step reads for each position of the context, on one rank;
            None where the model's configuration was not recorded.
        ns_per_kib: what one more KiB of that costs a decode step (the slope against it).
    """

    arm: str
    batch: int
    depths: tuple[int, ...]
    retention_pct: float
    retention_interval_pct: Interval | None
    slope_ms_per_1000: float
    slope_se_ms_per_1000: float | None
    slope_interval: Interval | None
    slope_ls_ms_per_1000: float
    slope_ls_se_ms_per_1000: float | None
    residuals_ms: tuple[float, ...]
    kv_bytes_per_position: int | None = None
    ns_per_kib: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which arms differ: per arm, its short text."""

    what: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything a table needs, recomputed from the ledger.

    Args:
        identity: "proved", "not proved" or "imported".
        image: short id of the image that the counted trials ran in; None outside containers.
        depth: one trend per arm and batch with two depths or more.
        order: per round, the arms in the order in which they ran (of the first condition).
        dropped: counts of records that do not count, by reason.
        gates: what was asked of the candidates, with the answers.
        looks: one sentence per look after which rounds were added, as the ledger has them.
        noise_floor: of an A/A run.
        control: of a run with a planted slow-down.
        last_controls: the newest of both kinds for the same image and host, one entry per kind.
    """

    run: str
    experiment: str
    baseline: str
    arms: tuple[str, ...]
    isolation: str
    identity: str
    cells: tuple[CellSummary, ...]
    effects: tuple[Effect, ...]
    declared_difference: tuple[Difference, ...]
    observed_difference: tuple[Difference, ...]
    order: tuple[tuple[str, ...], ...]
    flags: tuple[Flag, ...] = ()
    depth: tuple[DepthTrend, ...] = ()
    image: str | None = None
    dropped: dict[str, int] = field(default_factory=dict)
    gates: tuple[GateResult, ...] = ()
    looks: tuple[str, ...] = ()
    noise_floor: tuple[NoiseFloor, ...] = ()
    control: tuple[ControlResult, ...] = ()
    last_controls: tuple[LastControl, ...] = ()

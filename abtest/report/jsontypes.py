"""The form of `summary --format json`: the types that `jsonout` is checked against and its schema is made from."""

from typing import Literal

from typing_extensions import TypedDict  # pydantic reads no other before Python 3.12


class FlagJson(TypedDict):
    """A finding; one that did not fire is not in a list."""

    name: str
    where: str
    figures: str
    why: str
    remedy: str


class IntervalJson(TypedDict):
    """An interval; `level` is its coverage, `method` how it was made."""

    low: float
    high: float
    level: float
    method: str


class ScatterJson(TypedDict):
    """Scatter of single pairs inside a sandbox, and between sandboxes, per cent; `degrees` of their F test."""

    within_pct: float
    between_pct: float
    f: float
    p: float
    degrees: list[int]


class CellJson(TypedDict):
    """One cell; the lists are by counted round, in time order."""

    arm: str
    depth: int
    batch: int
    n: int
    voids: int
    rounds: list[int]
    rates_tok_s: list[float]
    slots: list[int]
    mean_tok_s: float | None
    ms_per_token: float | None
    spread_pct: float | None
    gate_pct: float | None
    leverage: float | None
    within_se_pct: float | None
    timestamps_tok_s: list[float]
    scatter: ScatterJson | None
    flags: list[FlagJson]


class CountsJson(TypedDict):
    """How many rounds of each side an effect rests on."""

    baseline: int
    candidate: int


class EffectJson(TypedDict):
    """Candidate over baseline; the ratios are null where none may be claimed."""

    baseline: str
    candidate: str
    depth: int
    batch: int
    n: CountsJson
    speedup: float | None
    speedup_mean_times: float | None
    basis: str
    basis_speedup: float | None
    interval: IntervalJson | None
    slot_effect_pct: float | None
    verdict: Literal["faster", "slower", "equivalent", "inconclusive", "invalid"]
    flags: list[FlagJson]


class DepthJson(TypedDict):
    """How one arm's rate falls with depth."""

    arm: str
    batch: int
    depths: list[int]
    retention_pct: float
    retention_interval_pct: IntervalJson | None
    slope_ms_per_1000: float
    slope_se_ms_per_1000: float | None
    slope_interval: IntervalJson | None
    slope_ls_ms_per_1000: float
    slope_ls_se_ms_per_1000: float | None
    residuals_ms: list[float]
    kv_bytes_per_position: int | None
    ns_per_kib: float | None


class DifferenceJson(TypedDict):
    """One thing in which arms differ, with its short text per arm."""

    what: str
    values: dict[str, str]


class LookJson(TypedDict):
    """One look of a gate: limits of the ratio, each wrong with the chance `level`."""

    rounds: int
    ratio: float | None
    low: float | None
    high: float | None
    level: float
    note: str


class GateJson(TypedDict):
    """One gate at one cell; the last look is the one that decided, if any did."""

    gate: str
    arm: str
    depth: int
    batch: int
    ratio: float
    decision: Literal["met", "not met", "inconclusive", "unproved"]
    why: str
    rounds: int
    looks: list[LookJson]


class NoiseFloorJson(TypedDict):
    """The same file in both arms, at one condition."""

    depth: int
    batch: int
    rounds: int
    ratio: float
    low: float
    high: float
    floor_pct: float
    differs: bool


class ControlJson(TypedDict):
    """A planted slow-down against what was found, milliseconds per token."""

    depth: int
    batch: int
    rounds: int
    per_call_ms: float
    calls_per_token: float
    planted_ms: float
    baseline_ms: float | None
    found_ms: float | None
    low_ms: float | None
    high_ms: float | None
    level: float
    outcome: Literal["found", "missed", "too noisy", "not measured"]


class LastControlJson(TypedDict):
    """The newest run of a kind for the same image and host; `run` is null where there is none."""

    kind: str
    run: str | None
    created: str | None
    noise_floor: list[NoiseFloorJson]
    control: list[ControlJson]


class SummaryJson(TypedDict):
    """A run's summary; keys are stable within a schema number."""

    schema: Literal[1]
    run: str
    experiment: str
    baseline: str
    arms: list[str]
    isolation: str
    identity: str
    image: str | None
    cells: list[CellJson]
    effects: list[EffectJson]
    depth: list[DepthJson]
    declared_difference: list[DifferenceJson]
    observed_difference: list[DifferenceJson]
    order: list[list[str]]
    dropped: dict[str, int]
    flags: list[FlagJson]
    gates: list[GateJson]
    looks: list[str]
    noise_floor: list[NoiseFloorJson]
    control: list[ControlJson]
    last_controls: list[LastControlJson]

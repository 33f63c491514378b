"""A summary as JSON with stable keys; a flag that did not fire is not in a list."""

import json

from abtest.model.flag import Flag
from abtest.model.result import (
    CellSummary,
    DepthTrend,
    Difference,
    Effect,
    Interval,
    Scatter,
    Summary,
)
from abtest.report import controls, gates
from abtest.report.jsontypes import (
    CellJson,
    DepthJson,
    DifferenceJson,
    EffectJson,
    FlagJson,
    IntervalJson,
    ScatterJson,
    SummaryJson,
)


def render(summary: Summary) -> str:
    """Write the summary as one JSON document, in ASCII: no escape of foreign text reaches a terminal."""
    body: SummaryJson = {
        "schema": 1,
        "run": summary.run,
        "experiment": summary.experiment,
        "baseline": summary.baseline,
        "arms": list(summary.arms),
        "isolation": summary.isolation,
        "identity": summary.identity,
        "image": summary.image,
        "cells": [_cell(cell) for cell in summary.cells],
        "effects": [_effect(effect) for effect in summary.effects],
        "depth": [_depth(trend) for trend in summary.depth],
        "declared_difference": [_difference(one) for one in summary.declared_difference],
        "observed_difference": [_difference(one) for one in summary.observed_difference],
        "order": [list(arms) for arms in summary.order],
        "dropped": dict(summary.dropped),
        "flags": [_flag(flag) for flag in summary.flags],
        "gates": [gates.as_json(one) for one in summary.gates],
        "looks": list(summary.looks),
        "noise_floor": [controls.floor_json(one) for one in summary.noise_floor],
        "control": [controls.control_json(one) for one in summary.control],
        "last_controls": [controls.last_json(one) for one in summary.last_controls],
    }
    return json.dumps(body, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _cell(cell: CellSummary) -> CellJson:
    return {
        "arm": cell.cell.arm,
        "depth": cell.cell.condition.depth,
        "batch": cell.cell.condition.batch,
        "n": cell.n,
        "voids": cell.voids,
        "rounds": list(cell.rounds),
        "rates_tok_s": list(cell.rates_tok_s),
        "slots": list(cell.slots),
        "mean_tok_s": cell.mean_tok_s,
        "ms_per_token": cell.ms_per_token,
        "spread_pct": cell.spread_pct,
        "gate_pct": cell.gate_pct,
        "leverage": cell.leverage,
        "within_se_pct": cell.within_se_pct,
        "timestamps_tok_s": list(cell.timestamps_tok_s),
        "scatter": None if cell.scatter is None else _scatter(cell.scatter),
        "flags": [_flag(flag) for flag in cell.flags],
    }


def _scatter(scatter: Scatter) -> ScatterJson:
    return {
        "within_pct": scatter.within_pct,
        "between_pct": scatter.between_pct,
        "f": scatter.f,
        "p": scatter.p,
        "degrees": list(scatter.degrees),
    }


def _effect(effect: Effect) -> EffectJson:
    return {
        "baseline": effect.baseline,
        "candidate": effect.candidate,
        "depth": effect.condition.depth,
        "batch": effect.condition.batch,
        "n": {"baseline": effect.rounds[0], "candidate": effect.rounds[1]},
        "speedup": effect.speedup,
        "speedup_mean_times": effect.speedup_mean_times,
        "basis": effect.basis,
        "basis_speedup": effect.basis_speedup,
        "interval": _interval(effect.interval),
        "slot_effect_pct": effect.slot_effect_pct,
        "verdict": effect.verdict.value,
        "flags": [_flag(flag) for flag in effect.flags],
    }


def _interval(interval: Interval | None) -> IntervalJson | None:
    if interval is None:
        return None
    return {
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "method": interval.method,
    }


def _depth(trend: DepthTrend) -> DepthJson:
    return {
        "arm": trend.arm,
        "batch": trend.batch,
        "depths": list(trend.depths),
        "retention_pct": trend.retention_pct,
        "retention_interval_pct": _interval(trend.retention_interval_pct),
        "slope_ms_per_1000": trend.slope_ms_per_1000,
        "slope_se_ms_per_1000": trend.slope_se_ms_per_1000,
        "slope_interval": _interval(trend.slope_interval),
        "slope_ls_ms_per_1000": trend.slope_ls_ms_per_1000,
        "slope_ls_se_ms_per_1000": trend.slope_ls_se_ms_per_1000,
        "residuals_ms": list(trend.residuals_ms),
        "kv_bytes_per_position": trend.kv_bytes_per_position,
        "ns_per_kib": trend.ns_per_kib,
    }


def _difference(one: Difference) -> DifferenceJson:
    return {"what": one.what, "values": dict(one.values)}


def _flag(flag: Flag) -> FlagJson:
    return {
        "name": flag.name,
        "where": flag.where,
        "figures": flag.figures,
        "why": flag.why,
        "remedy": flag.remedy,
    }

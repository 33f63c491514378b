"""The probe's report, read once into typed parts."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from abtest.model.telemetry import Window
from abtest.model.trial import Kernel, Pair, RankIdentity, RouteCount, Scalar


class BadReportError(ValueError):
    """The report does not have the form that was agreed with the probe."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one probe said.

    Args:
        error: (kind, name, message), None if all went well.
        prompt: (sha256, tokens as the engine counted them).
        output_ids: token ids per sequence, of the first timed long generation.
        windows: when each generation ran, on the machine's monotonic clock.
    """

    error: tuple[str, str, str] | None = None
    pairs: tuple[Pair, ...] = ()
    warmup: Pair | None = None
    token_s_per_token: tuple[float, ...] = ()
    identity: tuple[RankIdentity, ...] = ()
    routes: tuple[RouteCount, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    engine_log: tuple[Mapping[str, Scalar], ...] = ()
    worker_pids: tuple[int, ...] = ()
    prompt: tuple[str, int] | None = None
    outputs_sha256: str | None = None
    output_ids: tuple[tuple[int, ...], ...] = ()
    phases_s: Mapping[str, float] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()


def environment_sha256(environment: Mapping[str, str]) -> str | None:
    """Give one digest over all facts; None where there are none."""
    if not environment:
        return None
    text = json.dumps(dict(environment), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_report(report: Mapping[str, Any]) -> Evidence:
    """Read the probe's report.

    Raises:
        BadReportError: a part is missing or has the wrong form.
    """
    try:
        error = report["error"]
        prompt = report.get("prompt")
        outputs = report.get("outputs") or {}
        return Evidence(
            error=None
            if error is None
            else (str(error["kind"]), str(error["name"]), str(error["message"])),
            pairs=tuple(_pair(pair) for pair in report.get("pairs") or ()),
            warmup=_pair(report["warmup"]) if report.get("warmup") else None,
            token_s_per_token=tuple(map(float, report.get("token_s_per_token") or ())),
            identity=tuple(_identity(entry) for entry in report.get("identity") or ()),
            routes=tuple(_route(entry) for entry in report.get("routes") or ()),
            kernels=tuple(_kernel(row) for row in report.get("kernels") or ()),
            engine_log=tuple(_finding(one) for one in report.get("log") or ()),
            worker_pids=tuple(map(int, report.get("worker_pids") or ())),
            prompt=None if prompt is None else (str(prompt["sha256"]), int(prompt["tokens"])),
            outputs_sha256=outputs.get("sha256"),
            output_ids=tuple(tuple(map(int, ids)) for ids in outputs.get("ids") or ()),
            phases_s={
                str(key): float(value) for key, value in (report.get("phases_s") or {}).items()
            },
            environment={
                str(key): str(value) for key, value in (report.get("environment") or {}).items()
            },
            flags=tuple(map(str, report.get("flags") or ())),
            windows=_windows(report),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadReportError(f"{type(error).__name__}: {error}") from error


def _pair(value: Mapping[str, Any]) -> Pair:
    return Pair(float(value["t_short_s"]), float(value["t_long_s"]), str(value["first"]))


def _windows(report: Mapping[str, Any]) -> tuple[Window, ...]:
    """Read when generations ran; without stamps, decode takes the pairs' mean time per token from the end back."""
    tokens, pairs = report.get("tokens") or (0, 0), report.get("pairs") or ()
    step_s = 0.0
    if pairs and tokens[1] > tokens[0]:
        growth_s = [pair["t_long_s"] - pair["t_short_s"] for pair in pairs]
        step_s = sum(growth_s) / len(pairs) / (tokens[1] - tokens[0])
    return tuple(_window(entry, step_s) for entry in report.get("windows") or ())


def _window(entry: Mapping[str, Any], step_s: float) -> Window:
    start_s, end_s = float(entry["start_s"]), float(entry["end_s"])
    stamp = entry.get("first_token_s")
    if stamp is not None and start_s <= float(stamp) <= end_s:  # else it is of another clock
        return Window(str(entry["kind"]), start_s, end_s, float(stamp))
    if step_s <= 0:
        return Window(str(entry["kind"]), start_s, end_s)
    decode_s = max(start_s, end_s - step_s * int(entry["tokens"]))
    return Window(str(entry["kind"]), start_s, end_s, decode_s, estimated=True)


def _route(value: Mapping[str, Any]) -> RouteCount:
    return RouteCount(
        int(value["rank"]), str(value["phase"]), dict(value["values"]), int(value["count"])
    )


def _kernel(value: Mapping[str, Any]) -> Kernel:
    return Kernel(
        int(value["rank"]),
        str(value["name"]),
        float(value["calls"]),
        float(value["ms_per_step"]),
    )


def _finding(value: Mapping[str, Any]) -> Mapping[str, Scalar]:
    texts: dict[str, Scalar] = {
        key: str(value[key]) for key in ("component", "fact", "value", "line")
    }
    return {**texts, "in_window": value.get("in_window") is True}


def _identity(value: Mapping[str, Any]) -> RankIdentity:
    return RankIdentity(
        rank=int(value["rank"]),
        pid=int(value["pid"]),
        when=str(value["when"]),
        target=str(value["target"]),
        path=str(value["path"]),
        md5=str(value["md5"]),
        sha256=str(value["sha256"]),
        loaded_code=str(value["loaded_code"]),
        compiled_code=str(value["compiled_code"]),
        match=value["match"] is True,
        copies=tuple(map(str, value.get("copies") or ())),
        pycache_prefix=value.get("pycache_prefix"),
        triton=value.get("triton"),
    )

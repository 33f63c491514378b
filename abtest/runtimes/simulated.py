"""A runtime with a known truth: rates, jitter, modes, drift and failures that are chosen, not measured.

It ships with the product: `--simulate` shows a whole run without an engine, and the tests hold the
analysis against a truth that they know. Its isolation is `simulated` and every table says so.
"""

import hashlib
import json
import random
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from abtest.errors import UnprovedError
from abtest.model.sandbox import (
    Collected,
    Exit,
    ImageFacts,
    ImageRequest,
    SandboxRequest,
    SandboxState,
    TargetFacts,
)

PLACEHOLDER = b"# stands for the image's own file: a simulated image holds none\n"


@dataclass(frozen=True, slots=True)
class ArmTruth:
    """How an arm behaves.

    Args:
        base_ms_per_token: decode cost at depth 0.
        slope_ms_per_1000: added cost per 1000 tokens of depth.
        modes: factors on the decode cost; each container draws one.
    """

    base_ms_per_token: float
    slope_ms_per_1000: float
    modes: tuple[float, ...] = (1.0,)


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything that the simulated machine is.

    Args:
        arms: by name; an arm that is not named behaves as `other`.
        prefill_s_per_1000: prefill time per 1000 tokens of depth.
        prefill_jitter: relative standard deviation of one prefill.
        container_jitter: relative standard deviation of the decode cost between containers.
        drift_per_trial: relative slow-down of decode that each trial adds to the next.
        fail: trial names that end without a report, by exit code.
        last_words: what the log of a failed trial ends with, by trial name.
        foreign_code: trial names that run another file than the arm's.
    """

    arms: Mapping[str, ArmTruth] = field(default_factory=dict)
    other: ArmTruth = ArmTruth(20.0, 7.4)
    prefill_s_per_1000: float = 0.2
    prefill_jitter: float = 0.002
    container_jitter: float = 0.005
    drift_per_trial: float = 0.0
    fail: Mapping[str, int] = field(default_factory=dict)
    last_words: Mapping[str, str] = field(default_factory=dict)
    foreign_code: frozenset[str] = frozenset()


class SimulatedRuntime:
    """Runs nothing; answers what a probe would have said on the machine that `truth` describes."""

    isolation = "simulated"

    def __init__(self, truth: Truth, *, baseline: str, seed: int = 1) -> None:
        """Prepare a machine.

        Args:
            baseline: the arm that the default truth makes slow; others get a flatter slope.
        """
        self._truth = truth
        self._baseline = baseline
        self._seed = seed
        self._trials = 0

    def survey(self, request: ImageRequest) -> ImageFacts:
        targets = tuple(_target(target, request.pythonpath) for target in request.targets)
        return ImageFacts("host", "simulated", None, "simulated", targets, {"python": "simulated"})

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator["SimulatedSandbox"]:
        self._trials += 1
        yield SimulatedSandbox(request, self)

    def report(self, request: SandboxRequest) -> dict[str, Any]:
        """Draw one trial's report, in the probe's form."""
        probe: Any = request.probe
        arm = request.arm
        chance = self._chance(request)
        truth = self._truth.arms.get(arm) or (
            self._truth.other if arm == self._baseline else ArmTruth(19.5, 0.26)
        )
        tau_s = (truth.base_ms_per_token + truth.slope_ms_per_1000 * probe["depth"] / 1000) / 1000
        tau_s *= chance.choice(truth.modes) * (1 + self._truth.drift_per_trial * self._trials)
        tau_s *= max(0.1, chance.gauss(1, self._truth.container_jitter))
        pairs = [self._pair(probe, tau_s, number, chance) for number in range(probe["pairs"])]
        return {
            "schema": 1,
            "trial": request.trial,
            "error": None,
            "phases_s": {},
            "tokens": probe["tokens"],
            "warmup": self._pair(probe, tau_s, 0, chance),
            "pairs": pairs,
            "token_s_per_token": [tau_s * chance.gauss(1, 0.001) for _ in pairs],
            "outputs": {"sha256": "simulated", "ids": []},
            "prompt": {"sha256": f"simulated-{probe['depth']}", "tokens": probe["depth"]},
            "identity": self._identity(request),
            "routes": [],
            "environment": {
                "engine.kind": "simulated",
                "engine.args": json.dumps(probe["engine"]["args"], sort_keys=True),
                **{f"env.{name}": value for name, value in request.env.items()},
                "engine.tensor_parallel": str(probe["engine"]["tensor_parallel"]),
            },
            "flags": [],
            "worker_pids": list(range(1, probe["engine"]["tensor_parallel"] + 1)),
        }

    def exit_of(self, trial: str) -> Exit:
        return Exit(self._truth.fail.get(trial, 0))

    def last_words_of(self, trial: str) -> str:
        return self._truth.last_words.get(trial, "simulated")

    def _chance(self, request: SandboxRequest) -> random.Random:
        """Draw by the planned trial, not by the order of calls: a second attempt, or a run that was interrupted, draws the same."""
        planned = re.sub(rf"(-{re.escape(request.arm)})\.\d+$", r"\1", request.trial)
        return random.Random(f"{self._seed}/{planned}")

    def _pair(
        self, probe: Mapping[str, Any], tau_s: float, number: int, chance: random.Random
    ) -> dict[str, object]:
        prefill_s = self._truth.prefill_s_per_1000 * probe["depth"] / 1000

        def whole_s(count: int) -> float:
            jitter = chance.gauss(0, self._truth.prefill_jitter)
            return max(1e-6, float(prefill_s * (1 + jitter) + count * tau_s))

        short, long = probe["tokens"]
        first = "long" if number % 2 else "short"
        return {"t_short_s": whole_s(short), "t_long_s": whole_s(long), "first": first}

    def _identity(self, request: SandboxRequest) -> list[dict[str, object]]:
        probe: Any = request.probe
        foreign = request.trial in self._truth.foreign_code
        return [
            {
                "rank": rank,
                "pid": rank + 1,
                "when": when,
                "target": swap.target,
                "path": swap.path,
                "md5": "0" * 32 if foreign else swap.md5,
                "sha256": "0" * 64 if foreign else swap.sha256,
                "loaded_code": swap.sha256,
                "compiled_code": swap.sha256,
                "match": True,
            }
            for rank in range(probe["engine"]["tensor_parallel"])
            for when in ("before", "after")
            for swap in request.swaps
        ]


class SimulatedSandbox:
    """A trial that is over as soon as it starts."""

    def __init__(self, request: SandboxRequest, runtime: SimulatedRuntime) -> None:
        self._request = request
        self._runtime = runtime

    def start(self) -> None:
        if not self._request.swaps:
            raise UnprovedError("a simulated trial has no swap", remedy="Report this as a bug.")

    def poll(self) -> SandboxState:
        return SandboxState("done", 1, self._runtime.exit_of(self._request.trial))

    def collect(self) -> Collected:
        failed = self._runtime.exit_of(self._request.trial).code != 0
        words = self._runtime.last_words_of(self._request.trial)
        return Collected(None if failed else self._runtime.report(self._request), words, None)


def _target(target: str, pythonpath: tuple[str, ...]) -> TargetFacts:
    found = [path for folder in pythonpath if (path := Path(folder) / target).is_file()]
    content = found[0].read_bytes() if found else PLACEHOLDER
    return TargetFacts(
        target=target,
        path=f"/simulated/{target}",
        package_root="/simulated",
        content=content,
        md5=hashlib.md5(content, usedforsecurity=False).hexdigest(),
        sha256=hashlib.sha256(content).hexdigest(),
    )

"""Everything that is fixed for a whole run, and the requests that follow from it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from abtest.model.sandbox import ContainerOptions, ImageFacts, SandboxRequest, Swap
from abtest.model.trial import PlannedTrial
from abtest.spec import Experiment


@dataclass(frozen=True, slots=True)
class Setup:
    """One run, ready to start.

    Args:
        pythonpath: absolute host folders that the engine is imported from.
        swaps: per arm, the staged file that takes the target's place.
        secrets: values of `env_pass`, handed through and never recorded.
        isolation: what the runtime calls itself.
    """

    run: str
    experiment: Experiment
    image: ImageFacts
    pythonpath: tuple[str, ...]
    swaps: Mapping[str, tuple[Swap, ...]]
    secrets: Mapping[str, str]
    isolation: str
    host: str

    @property
    def parts(self) -> dict[str, str]:
        """Name every part that must not change within a run, each with a digest of its own."""
        fixed = self.experiment.model_dump(
            mode="json",
            include={
                "name",
                "target",
                "baseline",
                "engine",
                "tokens",
                "pairs",
                "estimator",
                "routes",
            }
            | {"container", "caches"},
        )
        parts = {f"experiment: {key}": _digest(value) for key, value in fixed.items()}
        for arm, swaps in self.swaps.items():
            parts[f"arm {arm}: file"] = _digest([(swap.target, swap.sha256) for swap in swaps])
            declared = self.experiment.arms[arm].model_dump(mode="json", include={"env", "args"})
            parts[f"arm {arm}: env and args"] = _digest(declared)
        parts["image: id"] = _digest(
            [self.image.kind, self.image.image_id, self.image.image_digest]
        )
        parts |= {f"image: {key}": _digest(value) for key, value in self.image.fingerprint.items()}
        parts["isolation"] = self.isolation
        return parts

    @property
    def spec_sha256(self) -> str:
        """One digest over all parts: records with another one are never mixed with these."""
        return _digest(self.parts)


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def sandbox_request(
    setup: Setup, planned: PlannedTrial, trial: str, out_dir: str
) -> SandboxRequest:
    """Say what one trial needs; the runtime adds the paths that only it knows."""
    experiment = setup.experiment
    arm = experiment.arms[planned.cell.arm]
    return SandboxRequest(
        run=setup.run,
        trial=trial,
        out_dir=out_dir,
        image=setup.image,
        pythonpath=setup.pythonpath,
        swaps=setup.swaps[planned.cell.arm],
        probe=_probe_request(experiment, planned, trial),
        env={**experiment.container.env, **arm.env},
        secrets=setup.secrets,
        options=container_options(experiment),
    )


def container_options(experiment: Experiment) -> ContainerOptions:
    """Turn the `container` section into what runtimes take."""
    section = experiment.container
    return ContainerOptions(
        shm_size_bytes=section.shm_size,
        **{
            name: getattr(section, name)
            for name in ContainerOptions.__dataclass_fields__
            if name != "shm_size_bytes"
        },
    )


def _probe_request(experiment: Experiment, planned: PlannedTrial, trial: str) -> dict[str, Any]:
    routes = experiment.routes
    engine = experiment.engine
    return {
        "schema": 1,
        "mode": "trial",
        "trial": trial,
        "engine": {
            "kind": engine.kind,
            "tensor_parallel": engine.tensor_parallel,
            "args": {**engine.args, **experiment.arms[planned.cell.arm].args},
        },
        "depth": planned.cell.condition.depth,
        "batch": planned.cell.condition.batch,
        "tokens": list(experiment.tokens),
        "pairs": experiment.pairs,
        "targets": [experiment.target],
        "routes": None if routes is None else {"at": routes.at, "record": list(routes.record)},
        "die_with_stdin": True,
        "hide_env": list(experiment.container.env_pass),
    }

"""Everything that is fixed for a whole run, and the requests that follow from it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
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
        images: the image of each arm; one and the same for all, unless arms declare their own.
        tool: version and commit of abtest itself.
    """

    run: str
    experiment: Experiment
    images: Mapping[str, ImageFacts]
    pythonpath: tuple[str, ...]
    swaps: Mapping[str, tuple[Swap, ...]]
    secrets: Mapping[str, str]
    isolation: str
    host: str
    tool: Mapping[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, str]:
        """Give what every record says of this set-up: the tool, and options of the container that were asked for."""
        asked = self.experiment.container.model_dump(
            mode="json", exclude_defaults=True, exclude={"env"}
        )
        return {**self.tool, "container.options": json.dumps(asked, sort_keys=True)}

    @property
    def image(self) -> ImageFacts:
        """The baseline's image."""
        return self.images[self.experiment.baseline]

    @property
    def parts(self) -> dict[str, str]:
        """Name every part that must not change within a run, each with a digest of its own."""
        fixed = self.experiment.model_dump(
            mode="json",
            include={
                "name",
                "target",
                "image",
                "baseline",
                "engine",
                "tokens",
                "pairs",
                "estimator",
                "routes",
                "telemetry",
            }
            | {"container", "caches"},
        )
        parts = {f"experiment: {key}": _digest(value) for key, value in fixed.items()}
        for arm, swaps in self.swaps.items():
            parts[f"arm {arm}: file"] = _digest([(swap.target, swap.sha256) for swap in swaps])
            declared = self.experiment.arms[arm].model_dump(mode="json", include={"env", "args"})
            parts[f"arm {arm}: env and args"] = _digest(declared)
        parts |= _image_parts("image", self.image)
        for arm, image in self.images.items():
            if image != self.image:
                parts |= _image_parts(f"image of {arm}", image)
        parts["isolation"] = self.isolation
        return parts

    @property
    def spec_sha256(self) -> str:
        """One digest over all parts: records with another one are never mixed with these."""
        return _digest(self.parts)


def _image_parts(name: str, image: ImageFacts) -> dict[str, str]:
    parts = {f"{name}: id": _digest([image.kind, image.image_id, image.image_digest])}
    return parts | {f"{name}: {key}": _digest(value) for key, value in image.fingerprint.items()}


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
        arm=planned.cell.arm,
        out_dir=out_dir,
        image=setup.images[planned.cell.arm],
        pythonpath=setup.pythonpath,
        swaps=setup.swaps[planned.cell.arm],
        probe=_probe_request(experiment, planned, trial),
        env={**experiment.container.env, **arm.env},
        secrets=setup.secrets,
        options=container_options(experiment),
        cache=cache_inputs(setup, planned.cell.arm) if experiment.caches != "cold" else None,
    )


def cache_inputs(setup: Setup, arm: str) -> str:
    """Digest what an arm's compiled code depends on: its files, its declared difference, its image with the engine in it."""
    declared = setup.experiment.arms[arm].model_dump(mode="json", include={"env", "args"})
    files = [(swap.target, swap.sha256) for swap in setup.swaps[arm]]
    engine = setup.experiment.engine.model_dump(mode="json")
    return _digest([arm, files, declared, engine, _image_parts("image", setup.images[arm])])


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
        "steady_s": experiment.telemetry.steady_s,
        "targets": list(experiment.targets),
        "routes": None if routes is None else {"at": routes.at, "record": list(routes.record)},
        "die_with_stdin": True,
        "hide_env": list(experiment.container.env_pass),
    }

"""The shape of an experiment file: frozen models, each field with its bounds and meaning."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema, field_validator

from abtest.model.names import Condition
from abtest.spec.arms import IMAGE_SCHEMA, Arm, Image
from abtest.spec.fields import (
    FREEZE,
    Arguments,
    Environment,
    Flagged,
    Int,
    Name,
    Number,
    Section,
    Size,
    Target,
    Text,
    Variable,
    distinct,
    problem,
)
from abtest.spec.routes import Routes
from abtest.spec.telemetry import Watching

MAX_DEPTH_TOKENS = 10_000_000


class Engine(Section):
    """What is driven inside the sandbox."""

    kind: Literal["reference", "vllm", "command"]
    tensor_parallel: Annotated[Int, Field(ge=1, le=64)] = 1
    python: Text | None = Field(None, description="interpreter inside the image; null = found")
    pythonpath: tuple[Text, ...] = Field(
        (), description="folders the engine is imported from, below this file's folder"
    )
    args: Arguments = Field(default_factory=dict, description="handed to the engine as they are")


class Container(Section):
    """Options of the container; nothing is granted that is not asked for."""

    gpus: tuple[Text, ...] = ()
    devices: tuple[Text, ...] = ()
    group_add: tuple[Text, ...] = ()
    cap_add: tuple[Text, ...] = ()
    security_opt: tuple[Text, ...] = ()
    ulimits: Annotated[Mapping[str, Int], *FREEZE] = Field(default_factory=dict)
    entrypoint: tuple[Text, ...] | None = None
    ipc: Literal["private", "host"] = "private"
    shm_size: Size = 1 << 30
    network: Literal["none", "bridge", "host"] = "none"
    volumes: tuple[Text, ...] = ()
    cpuset_cpus: Annotated[str, StringConstraints(pattern=r"^[0-9]+([-,][0-9]+)*$")] | None = None
    cpuset_mems: Annotated[str, StringConstraints(pattern=r"^[0-9]+([-,][0-9]+)*$")] | None = None
    user: Annotated[str, StringConstraints(pattern=r"^[0-9]+(:[0-9]+)?$")] | None = None
    env: Environment = Field(default_factory=dict)
    env_pass: tuple[Variable, ...] = ()


class Limits(Section):
    """How long things may take before they are ended, in seconds."""

    start_s: Annotated[Number, Field(gt=0, le=86400)] = 900
    trial_s: Annotated[Number, Field(gt=0, le=86400)] = 1800
    retries: Annotated[Int, Field(ge=0, le=10)] = 1
    total_s: Annotated[Number, Field(gt=0)] | None = None


class Experiment(Section):
    """One experiment, as its file says it."""

    schema_: Literal[1] = Field(alias="schema", description="version of this format")
    name: Name
    image: Annotated[Image, WithJsonSchema(IMAGE_SCHEMA)] = Image.model_construct()
    runtime: Literal["auto", "docker", "process"] = "auto"
    target: Target = Field(
        description="path below the package root, or an absolute path in the image"
    )
    baseline: Name
    arms: Annotated[Mapping[Name, Arm], *FREEZE] = Field(min_length=2, max_length=16)
    engine: Engine
    depths: Annotated[
        tuple[Annotated[Int, Field(ge=1, le=MAX_DEPTH_TOKENS)], ...], AfterValidator(distinct)
    ] = Field(min_length=1)
    batches: Annotated[
        tuple[Annotated[Int, Field(ge=1, le=4096)], ...], AfterValidator(distinct)
    ] = Field((1,), min_length=1)
    tokens: tuple[Annotated[Int, Field(ge=1)], Annotated[Int, Field(le=65536)]] = (8, 64)
    pairs: Annotated[Int, Field(ge=1, le=99)] = 5
    estimator: Literal["differential", "timestamps"] = "differential"
    rounds: Annotated[Int, Field(ge=1, le=200)] = 4
    allow_unbalanced: Flagged = False
    routes: Routes | None = None
    container: Container = Field(default_factory=Container)
    caches: Literal["cold", "warm-per-arm"] = Field(
        "cold",
        description="a fresh home and temporary folder per trial, or one kept for each arm",
    )
    limits: Limits = Field(default_factory=Limits)
    telemetry: Watching = Field(default_factory=Watching)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(Condition(depth, batch) for batch in self.batches for depth in self.depths)

    @property
    def targets(self) -> tuple[str, ...]:
        """Every file that some arm changes; all of them are put in place and asserted in every arm."""
        named = (target for arm in self.arms.values() for target in arm.sources(self.target))
        return tuple(dict.fromkeys((self.target, *named)))

    def image_of(self, arm: str) -> Image:
        return self.arms[arm].image or self.image

    @field_validator("tokens")
    @classmethod
    def _rising(cls, value: tuple[int, int]) -> tuple[int, int]:
        if value[0] >= value[1]:
            raise problem(
                f"{list(value)} does not rise", "Write the short count first, such as [8, 64]."
            )
        return value

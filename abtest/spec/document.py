"""The shape of an experiment file: frozen models, each field with its bounds and meaning."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from abtest.model.names import ARM_NAME, Condition

_SIZE = re.compile(r"([1-9][0-9]{0,11})([kmg]?)b?", re.IGNORECASE)
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
MAX_DEPTH_TOKENS = 10_000_000


def problem(text: str, remedy: str) -> PydanticCustomError:
    """Make a validation error that carries its remedy."""
    return PydanticCustomError("abtest", "{text}", {"text": text, "remedy": remedy})


def _frozen(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(value))


def _thawed(value: object) -> object:
    """Undo `_frozen`, all the way down, for the serialiser."""
    return (
        {key: _thawed(inner) for key, inner in value.items()}
        if isinstance(value, Mapping)
        else value
    )


def _size(value: object) -> object:
    """Turn `1g`, `512m` into bytes."""
    if isinstance(value, str):
        found = _SIZE.fullmatch(value.strip())
        if found is None:
            text = f"{value!r} is not a size"
            raise problem(text, "Write bytes, or a number with k, m or g behind it, such as 1g.")
        return int(found[1]) * _FACTOR[found[2].lower()]
    return value


def _arm_name(value: str) -> str:
    if ARM_NAME.fullmatch(value) is None:
        raise problem(
            f"{value!r} is not a name",
            "Use up to 32 of a-z, 0-9, '.', '_' and '-', the first a letter or a digit.",
        )
    return value


def _variable(value: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) is None:
        raise problem(f"{value!r} is not a variable's name", "Use letters, digits and '_'.")
    return value


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) != len(values):
        raise problem("a value stands twice", "Name each value once.")
    return values


Name = Annotated[
    str, AfterValidator(_arm_name), Field(json_schema_extra={"pattern": f"^{ARM_NAME.pattern}$"})
]
Variable = Annotated[str, AfterValidator(_variable)]
Text = Annotated[
    str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")
]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Int = Annotated[int, Field(strict=True)]
Flagged = Annotated[bool, Field(strict=True)]
Number = Annotated[float, Field(allow_inf_nan=False)]
_freeze = (AfterValidator(_frozen), PlainSerializer(_thawed))
Environment = Annotated[
    Mapping[Variable, Annotated[str, StringConstraints(max_length=32768)]], *_freeze
]
Arguments = Annotated[Mapping[str, JsonValue], *_freeze]
RouteValues = Annotated[Mapping[str, str | Flagged | Int | Number | None], *_freeze]
Size = Annotated[
    int,
    BeforeValidator(_size),
    Field(strict=True, ge=1 << 20, le=1 << 44),
    WithJsonSchema({"type": ["integer", "string"], "examples": ["1g", "512m"]}),
]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Image(_Section):
    """Where trials run: the host's own stack, a recipe that is built, or a reference."""

    build: Text | None = None
    ref: Text | None = None

    @property
    def kind(self) -> Literal["host", "build", "ref"]:
        if self.build is not None:
            return "build"
        return "host" if self.ref is None else "ref"

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: object) -> object:
        if value == "host":
            return {}
        if isinstance(value, Mapping) and len(value) == 1:
            return value
        raise problem(
            f"{value!r} is not an image", "Write `host`, `{build: DIR}` or `{ref: NAME}`."
        )


IMAGE_SCHEMA: dict[str, Any] = {
    "description": "Where trials run: the host's own stack, a recipe that is built, or a reference.",
    "anyOf": [
        {"const": "host"},
        *(
            {
                "type": "object",
                "properties": {kind: {"type": "string"}},
                "required": [kind],
                "additionalProperties": False,
            }
            for kind in ("build", "ref")
        ),
    ],
}


class Replacement(_Section):
    """One exact replacement in the image's own file; `old` must occur exactly once."""

    old: Annotated[str, StringConstraints(min_length=1)]
    new: str


class Arm(_Section):
    """One version of what is compared; empty means the image's own file."""

    file: Text | None = Field(
        None, description="a file of this experiment that takes the target's place"
    )
    replace: tuple[Replacement, ...] = Field(
        (), description="exact replacements in the image's own file"
    )
    base_md5: Md5 | None = Field(None, description="refuse unless the image's file has this md5")
    md5: Md5 | None = Field(None, description="refuse unless the arm's file has this md5")
    env: Environment = Field(default_factory=dict, description="variables of this arm")
    args: Arguments = Field(default_factory=dict, description="engine arguments of this arm")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.file is not None and self.replace:
            raise problem(
                "file and replace stand together", "An arm has one source: keep one of the two."
            )
        return self


class Engine(_Section):
    """What is driven inside the sandbox."""

    kind: Literal["reference"]
    tensor_parallel: Annotated[Int, Field(ge=1, le=64)] = 1
    python: Text | None = Field(None, description="interpreter inside the image; null = found")
    pythonpath: tuple[Text, ...] = Field(
        (), description="folders the engine is imported from, below this file's folder"
    )
    args: Arguments = Field(default_factory=dict, description="handed to the engine as they are")


class Routes(_Section):
    """The dispatch decision that is recorded inside each worker."""

    at: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$", max_length=500)]
    record: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*$")], ...],
        AfterValidator(_distinct),
    ] = Field(min_length=1)
    expect: Annotated[Mapping[Name, RouteValues], *_freeze] = Field(default_factory=dict)


class Container(_Section):
    """Options of the container; nothing is granted that is not asked for."""

    gpus: tuple[Text, ...] = ()
    devices: tuple[Text, ...] = ()
    group_add: tuple[Text, ...] = ()
    cap_add: tuple[Text, ...] = ()
    security_opt: tuple[Text, ...] = ()
    ulimits: Annotated[Mapping[str, Int], *_freeze] = Field(default_factory=dict)
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


class Limits(_Section):
    """How long things may take before they are ended, in seconds."""

    start_s: Annotated[Number, Field(gt=0, le=86400)] = 900
    trial_s: Annotated[Number, Field(gt=0, le=86400)] = 1800
    retries: Annotated[Int, Field(ge=0, le=10)] = 1
    total_s: Annotated[Number, Field(gt=0)] | None = None


class Experiment(_Section):
    """One experiment, as its file says it."""

    schema_: Literal[1] = Field(alias="schema", description="version of this format")
    name: Name
    image: Annotated[Image, WithJsonSchema(IMAGE_SCHEMA)] = Image.model_construct()
    runtime: Literal["auto", "docker", "process"] = "auto"
    target: Text = Field(
        description="path below the package root, or an absolute path in the image"
    )
    baseline: Name
    arms: Annotated[Mapping[Name, Arm], *_freeze] = Field(min_length=2, max_length=16)
    engine: Engine
    depths: Annotated[
        tuple[Annotated[Int, Field(ge=1, le=MAX_DEPTH_TOKENS)], ...], AfterValidator(_distinct)
    ] = Field(min_length=1)
    batches: Annotated[
        tuple[Annotated[Int, Field(ge=1, le=4096)], ...], AfterValidator(_distinct)
    ] = Field((1,), min_length=1)
    tokens: tuple[Annotated[Int, Field(ge=1)], Annotated[Int, Field(le=65536)]] = (8, 64)
    pairs: Annotated[Int, Field(ge=1, le=99)] = 5
    estimator: Literal["differential", "timestamps"] = "differential"
    rounds: Annotated[Int, Field(ge=1, le=200)] = 4
    allow_unbalanced: Flagged = False
    routes: Routes | None = None
    container: Container = Field(default_factory=Container)
    caches: Literal["cold"] = "cold"
    limits: Limits = Field(default_factory=Limits)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(Condition(depth, batch) for batch in self.batches for depth in self.depths)

    @field_validator("tokens")
    @classmethod
    def _rising(cls, value: tuple[int, int]) -> tuple[int, int]:
        if value[0] >= value[1]:
            raise problem(
                f"{list(value)} does not rise", "Write the short count first, such as [8, 64]."
            )
        return value

    @field_validator("target")
    @classmethod
    def _a_python_file(cls, value: str) -> str:
        if not value.endswith(".py") or ".." in value.split("/"):
            raise problem(
                f"{value!r} is not a Python file of a package",
                "Write such as vllm/v1/attention/ops/kernel.py.",
            )
        return value

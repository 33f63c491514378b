"""The kinds of value that an experiment file is made of, each with its bounds."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

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
)
from pydantic_core import PydanticCustomError

from abtest.model.names import ARM_NAME

_SIZE = re.compile(r"([1-9][0-9]{0,11})([kmg]?)b?", re.IGNORECASE)
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


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


def _target(value: str) -> str:
    """Accept a Python file or a shared library, below a package's root or by its absolute path."""
    if not value.endswith((".py", ".so")) or ".." in value.split("/"):
        raise problem(
            f"{value!r} is neither a Python file nor a shared library of a package",
            "Write such as vllm/v1/attention/ops/kernel.py, or vllm/_C.abi3.so.",
        )
    return value


def _variable(value: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) is None:
        raise problem(f"{value!r} is not a variable's name", "Use letters, digits and '_'.")
    return value


def distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
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
Target = Annotated[Text, AfterValidator(_target)]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Int = Annotated[int, Field(strict=True)]
Flagged = Annotated[bool, Field(strict=True)]
Number = Annotated[float, Field(allow_inf_nan=False)]
FREEZE = (AfterValidator(_frozen), PlainSerializer(_thawed))
Environment = Annotated[
    Mapping[Variable, Annotated[str, StringConstraints(max_length=32768)]], *FREEZE
]
Arguments = Annotated[Mapping[str, JsonValue], *FREEZE]
RouteValues = Annotated[Mapping[str, str | Flagged | Int | Number | None], *FREEZE]
Size = Annotated[
    int,
    BeforeValidator(_size),
    Field(strict=True, ge=1 << 20, le=1 << 44),
    WithJsonSchema({"type": ["integer", "string"], "examples": ["1g", "512m"]}),
]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

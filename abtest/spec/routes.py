"""Where the dispatch decision is read, and what is read there."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from abtest.probe import lookup
from abtest.spec.fields import FREEZE, Name, RouteValues, Section, distinct, problem

_FUNCTION = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"


def _recorded(value: str) -> str:
    try:
        lookup.parse(value)
    except ValueError as error:
        raise problem(
            str(error), "Write a local's name, `local.attribute`, or `alias=local@i32[19]`."
        ) from error
    return value


class Routes(Section):
    """The dispatch decision that is recorded inside each worker."""

    at: Annotated[str, StringConstraints(pattern=_FUNCTION, max_length=500)] = Field(
        description="module:function or module:Class.method"
    )
    record: Annotated[
        tuple[Annotated[str, AfterValidator(_recorded)], ...], AfterValidator(distinct)
    ] = Field(
        min_length=1,
        description="arguments or locals, such as use_3d, self.num_heads or splits=metadata@i32[19]",
    )
    expect: Annotated[Mapping[Name, RouteValues], *FREEZE] = Field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """What the recorded values are called: an alias, or the text itself."""
        return tuple(lookup.parse(text).name for text in self.record)

    @field_validator("record")
    @classmethod
    def _names_differ(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        distinct(tuple(lookup.parse(text).name for text in value))
        return value

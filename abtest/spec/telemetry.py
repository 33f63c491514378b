"""The `telemetry` section of an experiment: how the machine is watched, and what makes a trial void."""

from typing import Annotated, Literal

from pydantic import Field

from abtest.spec.fields import Section

Seconds = Annotated[float, Field(allow_inf_nan=False)]
Rule = Literal["gpu-lost", "foreign", "link", "swap", "throttle"]
RULES: tuple[Rule, ...] = ("gpu-lost", "foreign", "link", "swap", "throttle")


class Watching(Section):
    """How the machine is watched; all of it is fixed for a run."""

    period_s: Annotated[Seconds, Field(ge=0.02, le=60)] = Field(
        default=0.2, description="time between samples"
    )
    steady_s: Annotated[Seconds, Field(ge=0, le=120)] = Field(
        default=0.0,
        description="length of an untimed decode after the pairs, for power and clocks; 0 = none",
    )
    idle_s: Annotated[Seconds, Field(ge=0, le=600)] = Field(
        default=1.0, description="gap between trials where there are cards"
    )
    settle_s: Annotated[Seconds, Field(ge=0, le=3600)] = Field(
        default=60.0, description="how long cards may take to be free again"
    )
    void: tuple[Rule, ...] = Field(
        default=RULES, description="states of the machine that void a trial"
    )

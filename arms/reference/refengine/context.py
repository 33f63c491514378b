"""What the running step is: read by anything inside a worker that needs to know."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ForwardContext:
    """One step of one sequence: tokens that are worked on, and tokens in the cache afterwards."""

    phase: Literal["idle", "prefill", "decode"]
    query_tokens: int = 0
    context_tokens: int = 0


_IDLE = ForwardContext("idle")
_now = _IDLE


def current() -> ForwardContext:
    """Return the running step of this process."""
    return _now


def enter(context: ForwardContext = _IDLE) -> None:
    """Set the running step; without an argument, none runs."""
    global _now  # noqa: PLW0603 - one step runs at a time in a worker
    _now = context

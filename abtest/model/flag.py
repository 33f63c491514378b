"""A finding that stands beside a number."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """A finding attached to a cell, an effect or a whole run.

    Args:
        name: from the list in the documentation, such as `bimodal?`.
        where: the cell, condition or "run" it belongs to.
        figures: the figures that made it fire.
        why: why it matters, one sentence.
        remedy: what the user can do, one sentence.
    """

    name: str
    where: str
    figures: str
    why: str
    remedy: str

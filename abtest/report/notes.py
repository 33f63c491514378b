"""What stands below the tables: the meaning of each flag that fired, and what the rounds cannot claim."""

from collections.abc import Iterator
from dataclasses import dataclass

from abtest.model.flag import Flag
from abtest.model.result import Summary
from abtest.report.neutralise import neutral

FEW = 4  # rounds; below, an analysis gives ranges and no verdict
NO_SPEED = (
    "Fewer than four rounds: no verdict, no p-value and no error bar; what is printed is the range of what was "
    "observed. Two modes and a drift are not excluded."
)
LEAST_ORDER_EFFECT_PCT = 0.5  # per slot; a smaller effect of the order is not worth a line


def limits(summary: Summary) -> tuple[str, ...]:
    """Say what the numbers cannot carry, and how strong the order of the arms was."""
    return (*_few(summary), *_order_effects(summary))


def _few(summary: Summary) -> Iterator[str]:
    if any(0 < min(effect.rounds) < FEW for effect in summary.effects):
        yield NO_SPEED


def _order_effects(summary: Summary) -> Iterator[str]:
    parts = [
        f"{effect.candidate}@{effect.condition} {effect.slot_effect_pct:+.1f} %"
        for effect in summary.effects
        if effect.slot_effect_pct is not None
        and min(effect.rounds) >= FEW
        and abs(effect.slot_effect_pct) >= LEAST_ORDER_EFFECT_PCT
    ]
    if parts:
        yield neutral(f"Order effect, change of a rate per later slot: {', '.join(parts)}.")


@dataclass(frozen=True, slots=True)
class Note:
    """One flag name, everything that fired under it, and what to do.

    Args:
        fired: (places, figures): the cells or conditions that share the same figures.
    """

    name: str
    fired: tuple[tuple[str, str], ...]
    why: str
    remedy: str


def grouped(summary: Summary) -> tuple[Note, ...]:
    """Gather the flags by name, in the order in which they bear on the result."""
    fired: dict[str, list[Flag]] = {}
    for flag in _all(summary):
        fired.setdefault(flag.name, []).append(flag)
    found = []
    for name, flags in fired.items():
        places: dict[str, dict[str, None]] = {}
        for flag in flags:
            places.setdefault(flag.figures, {})[flag.where] = None
        pairs = tuple((neutral(", ".join(at)), neutral(what)) for what, at in places.items())
        found.append(Note(neutral(name), pairs, neutral(flags[0].why), neutral(flags[0].remedy)))
    return tuple(found)


def of_flags(summary: Summary) -> tuple[str, ...]:
    """Give one line per flag name: where it fired with which figures, why it matters, what to do."""
    return tuple(
        f"{one.name} - {'; '.join(f'{places}: {figures}' for places, figures in one.fired)}. {one.why} {one.remedy}"
        for one in grouped(summary)
    )


def _all(summary: Summary) -> Iterator[Flag]:
    yield from summary.flags
    for effect in summary.effects:
        yield from effect.flags
    for cell in summary.cells:
        yield from cell.flags

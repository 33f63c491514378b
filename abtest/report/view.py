"""The tables as strings with sensible digits; every format shows these and nothing else."""

from dataclasses import dataclass

from abtest.model.flag import Flag
from abtest.model.result import CellSummary, Difference, Effect, Summary

DASH = "-"
LONG_VALUE = 40


@dataclass(frozen=True, slots=True)
class CellRow:
    """One row per cell."""

    cell: str
    rates: str
    mean: str
    ms: str
    spread: str
    leverage: str
    flags: str


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One row per candidate and condition."""

    condition: str
    arms: str
    speedup: str
    interval: str
    rounds: str
    verdict: str
    flags: str


@dataclass(frozen=True, slots=True)
class View:
    """Everything a reader sees.

    Args:
        facts: (name, text) lines above the tables.
        notes: one line per distinct flag: name, where with figures, why, remedy.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    cells: tuple[CellRow, ...]
    effects: tuple[EffectRow, ...]
    notes: tuple[str, ...]


def neutral(text: str) -> str:
    """Show control characters of foreign text instead of letting a terminal act on them."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


def view(summary: Summary) -> View:
    """Turn a summary into strings."""
    flags_by_condition = {
        cell.cell.condition: tuple(
            flag
            for other in summary.cells
            if other.cell.condition == cell.cell.condition
            for flag in other.flags
        )
        for cell in summary.cells
    }
    return View(
        title=neutral(f"{summary.experiment}  {summary.run}"),
        facts=_facts(summary),
        cells=tuple(_cell_row(cell) for cell in summary.cells),
        effects=tuple(
            _effect_row(summary, effect, flags_by_condition[effect.condition])
            for effect in summary.effects
        ),
        notes=_notes(summary),
    )


def _facts(summary: Summary) -> tuple[tuple[str, str], ...]:
    order = "  ".join("/".join(arms) for arms in summary.order)
    dropped = ", ".join(f"{count} {name}" for name, count in summary.dropped.items())
    rows = [
        ("isolation", summary.isolation),
        (
            "identity",
            f"{summary.identity} (every rank: file hash and loaded code, before and after timing)",
        )
        if summary.identity == "proved"
        else ("identity", summary.identity),
        ("order by round", order or DASH),
        ("declared difference", _differences(summary.declared_difference)),
        ("observed difference", _differences(summary.observed_difference)),
    ]
    if dropped:
        rows.append(("not counted", dropped))
    if summary.flags:
        rows.append(("flags", ", ".join(flag.name for flag in summary.flags)))
    return tuple((name, neutral(text)) for name, text in rows)


def _differences(found: tuple[Difference, ...]) -> str:
    return "; ".join(f"{one.what}: {_values(one)}" for one in found) or "none"


def _values(one: Difference) -> str:
    parts = []
    for arm, full in one.values.items():
        value = full.rpartition("(")[2].rstrip(")") if "(md5 " in full else full
        parts.append(
            f"{arm} {value if len(value) <= LONG_VALUE else value[: LONG_VALUE - 3] + '...'}"
        )
    return ", ".join(parts)


def _cell_row(cell: CellSummary) -> CellRow:
    spread = (
        DASH if cell.spread_pct is None else f"{cell.spread_pct:.1f} % (of {cell.gate_pct:.1f})"
    )
    return CellRow(
        cell=neutral(str(cell.cell)),
        rates="  ".join(f"{rate:.1f}" for rate in cell.rates_tok_s) or DASH,
        mean=DASH if cell.mean_tok_s is None else f"{cell.mean_tok_s:.1f}",
        ms=DASH if cell.ms_per_token is None else f"{cell.ms_per_token:.3f}",
        spread=spread,
        leverage=DASH if cell.leverage is None else f"{cell.leverage:.1f}",
        flags=", ".join(dict.fromkeys(flag.name for flag in cell.flags)),
    )


def _effect_row(summary: Summary, effect: Effect, flags: tuple[Flag, ...]) -> EffectRow:
    interval = DASH
    if effect.interval is not None:
        found = effect.interval
        interval = f"{found.low:.3f} to {found.high:.3f} ({found.method}, {_level(found.level)})"
    counts = {str(cell.cell): cell.n for cell in summary.cells}
    rounds = [
        counts.get(f"{arm}@{effect.condition}", 0) for arm in (effect.baseline, effect.candidate)
    ]
    return EffectRow(
        condition=str(effect.condition),
        arms=neutral(f"{effect.candidate} / {effect.baseline}"),
        speedup="not printed" if effect.speedup is None else f"{effect.speedup:.3f}x",
        interval=interval,
        rounds=str(rounds[0]) if rounds[0] == rounds[1] else f"{rounds[1]} / {rounds[0]}",
        verdict=effect.verdict.value,
        flags=", ".join(
            dict.fromkeys(flag.name for flag in (*summary.flags, *effect.flags, *flags))
        ),
    )


def _level(level: float) -> str:
    return f"{100 * level:.0f} %" if level >= 0.95 or level == 0.9 else f"level {level:.2f}"  # noqa: PLR2004 - usual levels


def _notes(summary: Summary) -> tuple[str, ...]:
    """One line per flag name: where it fired with which figures, why it matters, what to do."""
    everywhere = [*summary.flags, *(flag for cell in summary.cells for flag in cell.flags)]
    names = dict.fromkeys(flag.name for flag in everywhere)
    lines = []
    for name in names:
        fired = [flag for flag in everywhere if flag.name == name]
        where = "; ".join(f"{flag.where}: {flag.figures}" for flag in fired)
        lines.append(neutral(f"{name} - {where}. {fired[0].why} {fired[0].remedy}"))
    return tuple(lines)

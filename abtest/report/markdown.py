"""A summary as GitHub Markdown: the headline, one row per condition, every cell, and what the flags mean."""

from collections import Counter
from collections.abc import Iterable, Sequence

from abtest.model.gate import Decision
from abtest.model.result import Summary
from abtest.report import gfm
from abtest.report.conditions import SIMULATED, ConditionRow, conditions
from abtest.report.figures import DASH
from abtest.report.gates import LEVELS
from abtest.report.maintable import table
from abtest.report.mermaid import charts
from abtest.report.view import View, view

MOST_NAMED = 12  # arms or conditions in one line; the table has all
BRACKETS = (
    "Rates are tokens per second and sequence, with milliseconds per token in brackets; n is the number of rounds that "
    "count. A speed-up in brackets was observed and is not claimed."
)
NOTHING = "Nothing can be compared: rounds are missing, or flags forbid every ratio; they stand in the rows."


def render(summary: Summary, *, whole: bool = True) -> str:
    """Write the summary; a table of the whole run is known again by `abtest verify`."""
    shown = view(summary)
    parts = (
        heading(summary), headline(summary), setting(shown), table(summary, shown, marked=whole), "\n\n".join(limits(shown)),
        gates(summary, shown), below(shown.footer), cells(shown), depths(shown), flags(shown),
    )  # fmt: skip
    return "\n".join(part.rstrip() + "\n" for part in parts if part)


def heading(summary: Summary) -> str:
    others = [arm for arm in summary.arms if arm != summary.baseline]
    against = f"{_listed([gfm.code(arm) for arm in others])} against " if others else ""
    return f"### {gfm.code(summary.experiment)}: {against}{gfm.code(summary.baseline)}\n"


def headline(summary: Summary) -> str:
    """Say what the rounds carry; a ratio stands here only where it is claimed."""
    rows = conditions(summary, view(summary))
    if not any(row.shown for row in rows):
        return f"**{NOTHING}**\n"
    if SIMULATED in summary.isolation:
        return "**Simulated: nothing was measured.**\n"
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row.effect.verdict, []).append(_place(row, alone=len(summary.arms) == 2))  # noqa: PLR2004 - two arms need no name
    said = (f"{verdict} at {_listed(places)}" for verdict, places in groups.items())
    text = "; ".join(said)
    return f"**{text[0].upper()}{text[1:]}.**\n"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def setting(shown: View) -> str:
    """Say in one line what the trials ran in, what was proved, and in what the arms differ."""
    said = dict(shown.facts)
    names = ("isolation", "identity", "image", "declared difference")
    return f"{'; '.join(f'{name}: {gfm.escape(said[name])}' for name in names if name in said)}.\n"


def _place(row: ConditionRow, *, alone: bool) -> str:
    name = gfm.escape(row.effect.condition) if alone else gfm.code(row.new.cell)
    ratio = row.effect.speedup.partition(" ")[0]
    return f"{name} ({gfm.escape(ratio)})" if row.claimed else name


def limits(shown: View) -> Iterable[str]:
    yield BRACKETS
    yield from map(gfm.escape, shown.limits)


def chart(summary: Summary) -> str:
    """Draw rate against depth, one chart per batch, each with its legend as text."""
    texts = []
    for one in charts(summary):
        legend = ", ".join(f"{color}: {gfm.code(arm)}" for color, arm in one.legend)
        batch = "" if one.batch == 1 else f" at batch {one.batch}"
        missing = f"; not drawn: {', '.join(map(gfm.escape, one.left_out))}" if one.left_out else ""
        texts.append(
            f"{gfm.fence(one.text, 'mermaid')}\nMean rate{batch} against depth, from zero; {legend}{missing}.\n"
        )
    return "\n".join(texts)


def cells(shown: View) -> str:
    head = ("cell", "tok/s by round, in time order", "mean", "ms per token", "spread", "leverage", "flags")  # fmt: skip
    rows = (
        (
            gfm.code(row.cell),
            *map(gfm.escape, (row.rates, row.mean, row.ms, row.spread, row.leverage)),
            gfm.escape(row.flags) or DASH,
        )
        for row in shown.cells
    )
    return gfm.table(head, rows, frozenset((2, 3, 4, 5))) if shown.cells else ""


def depths(shown: View) -> str:
    head = ("arm", "depths", "retention of tok/s", "slope, ms/token per 1000 tokens", "least squares")  # fmt: skip
    rows = (
        (
            gfm.code(row.arm),
            *map(gfm.escape, (row.depths, row.retention, row.slope, row.least_squares)),
        )
        for row in shown.depth
    )
    return gfm.table(head, rows, frozenset()) if shown.depth else ""


def flags(shown: View, longest: int = 2000) -> str:
    """Give one line per flag: where it fired with which figures, why it matters, what to do."""
    return "".join(f"* {gfm.escape(gfm.shortened(note, longest))}\n" for note in shown.notes)


def gates(summary: Summary, shown: View, most: int | None = None) -> str:
    """Say how many gates were met, then each gate with its looks; nothing where none was asked for.

    Args:
        most: how many lines there is room for; the counts above them are of all gates.
    """
    if not summary.gates:
        return ""
    counts = Counter(one.decision for one in summary.gates)
    said = ", ".join(
        f"{counts[decision]} {decision.value}" for decision in Decision if counts[decision]
    )
    lines = [line for line in shown.gates if line != LEVELS]
    return f"**Gates: {said}.**\n\n{below(lines, most)}\n{LEVELS}\n"


def below(lines: Sequence[str], most: int | None = None) -> str:
    """Write lines that stand below the tables as a list; an indented one belongs to the one above it.

    Args:
        most: how many lines there is room for; None for all.
    """
    kept = lines if most is None else lines[:most]
    texts = [f"{'  ' * line.startswith(' ')}* {gfm.escape(line.strip())}\n" for line in kept]
    if cut := len(lines) - len(kept):
        texts.append(f"* {cut} lines more are left out for length; `abtest summary` prints them.\n")
    return "".join(texts)

"""The comment for a pull request: the table in front, what stands behind it in folds, and never over the forge's limit."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from abtest.model.result import Summary
from abtest.model.trial import TrialRecord
from abtest.report import evidence, gfm, maintable, markdown, origin
from abtest.report.neutralise import neutral
from abtest.report.origin import Origin
from abtest.report.view import View, view

MOST = 65_536  # characters of a comment on GitHub
MOST_LINES = (
    40  # of gates, and of the footer: they always stand in front, so they must not fill the comment
)
# What goes first when there is no room: the largest and the least asked for.
SHED = (
    "pairs", "kernels", "rounds", "provenance", "routes", "identities", "cells and depths", "flags explained", "chart",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Comment:
    summary: Summary
    shown: View
    parts: Mapping[str, str]
    command: str


def render(
    summary: Summary, records: Sequence[TrialRecord], origin_of_run: Origin, most: int = MOST
) -> str:
    """Write the comment.

    Args:
        records: every standing one, those too that do not count.
        most: characters; what is left out for it is named in the text, in the order of `SHED`.
    """
    shown = view(summary)
    timed = [one for one in records if not one.discarded]
    counted = [one for one in timed if one.counts]
    facts = origin.rows(summary, shown, counted, origin_of_run)
    parts = {
        "pairs": evidence.pairs(timed),
        "kernels": evidence.kernels(counted),
        "rounds": evidence.rounds(summary, timed),
        "provenance": gfm.table(
            ("what", "is"),
            [(gfm.escape(name), gfm.escape(text)) for name, text in facts],
            frozenset(),
        ),
        "routes": evidence.routes(counted),
        "identities": evidence.identities(counted),
        "cells and depths": f"{markdown.cells(shown)}\n{markdown.depths(shown)}",
        "flags explained": markdown.flags(shown),
        "chart": markdown.chart(summary),
    }
    return _fitting(_Comment(summary, shown, parts, _command(origin_of_run)), most)


def _fitting(comment: _Comment, most: int) -> str:
    """Leave out one part after the other until the rest fits, then rows of the table itself."""
    for count in range(len(SHED) + 1):
        text = _text(comment, SHED[:count])
        if len(text) <= most:
            return text
    rows = len(comment.summary.effects)
    while rows:
        rows //= 2
        text = _text(comment, SHED, rows)
        if len(text) <= most:
            return text
    return _text(comment, SHED, 0)[:most]


def _text(comment: _Comment, left_out: Sequence[str], most_rows: int | None = None) -> str:
    kept = {name: text for name, text in comment.parts.items() if name not in left_out and text}
    head = [
        markdown.heading(comment.summary),
        markdown.headline(comment.summary),
        markdown.setting(comment.shown),
        maintable.table(comment.summary, comment.shown, most_rows),
        "\n\n".join(markdown.limits(comment.shown)) + "\n",
        markdown.gates(comment.summary, comment.shown, MOST_LINES),
        markdown.below(comment.shown.footer, MOST_LINES),
        kept.get("chart", ""),
    ]
    if left_out:
        head.append(f"Left out for length, in this order: {', '.join(left_out)}.\n")
    if "flags explained" in kept:
        head.append(
            gfm.fold("Flags: figures, why they matter, what to do", kept["flags explained"])
        )
    return "\n".join(part for part in (*head, _evidence(kept, comment.command)) if part)


def _evidence(kept: Mapping[str, str], command: str) -> str:
    titles = (
        ("Cells and depths", "cells and depths"),
        ("Rounds, in time order", "rounds"),
        ("Pairs", "pairs"),
        ("Code that ran, per arm and rank", "identities"),
        ("Routes", "routes"),
        ("Kernels of decode steps", "kernels"),
        ("Provenance", "provenance"),
    )
    body = [f"#### {title}\n\n{kept[name]}" for title, name in titles if name in kept]
    body.append(f"#### Run it again\n\n{command}")
    return gfm.fold("Evidence: rounds, code, routes, provenance", "\n".join(body))


def _command(origin_of_run: Origin) -> str:
    if origin_of_run.command is None:
        return "The figures come from elsewhere; they cannot be measured again from here.\n"
    line = gfm.shortened(neutral(shlex.join(origin_of_run.command)), 2000)
    return gfm.fence(line, "sh")

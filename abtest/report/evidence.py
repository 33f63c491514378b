"""What stands behind the figures, as Markdown: every round, every pair, the code of each rank, routes and kernels."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from abtest.model.names import Cell
from abtest.model.result import Summary
from abtest.model.trial import Pair, TrialRecord
from abtest.report import figures, gfm
from abtest.report.figures import DASH
from abtest.report.neutralise import neutral

DIGITS = 5  # of a time; a rate shows three or four
SHORT = 12  # characters of a digest of loaded code
MOST_KERNELS = 8  # per cell, those that take most of a step


def rounds(summary: Summary, records: Sequence[TrialRecord]) -> str:
    """Write one row per trial that is no warm-up, also of those that do not count."""
    rates = {
        (cell.cell, number): rate
        for cell in summary.cells
        for number, rate in zip(cell.rounds, cell.rates_tok_s, strict=True)
    }
    head = ("cell", "round", "slot", "tok/s", "status", "started (UTC)", "outputs sha256")
    rows = (
        (
            gfm.code(str(one.cell)), str(one.round), str(one.slot),
            figures.rate(rates.get((one.cell, one.round)) if one.counts else None),
            gfm.escape(one.status.value if one.reason is None else f"{one.status.value}: {one.reason}"),
            gfm.code(one.started_at) if one.started_at else DASH,
            DASH if one.outputs is None else gfm.code(one.outputs.sha256[:SHORT]),
        )
        for one in records
        if not one.discarded
    )  # fmt: skip
    return gfm.table(head, rows, frozenset((1, 2, 3)))


def pairs(records: Sequence[TrialRecord]) -> str:
    """Write every pair of every trial in the order in which it was measured, in seconds."""
    lines = [
        neutral(f"{one.cell} round {one.round}: {'  '.join(map(_pair, one.pairs)) or DASH}")
        for one in records
        if not one.discarded
    ]
    tokens = sorted({one.tokens for one in records})
    said = ", ".join(f"{short} and {long}" for short, long in tokens)
    return f"Seconds for {said} tokens, the one that ran first on the left.\n\n" + gfm.fence(
        "\n".join(lines), "text"
    )


def _pair(pair: Pair) -> str:
    short = f"S {figures.significant(pair.t_short_s, DIGITS)}"
    long = f"L {figures.significant(pair.t_long_s, DIGITS)}"
    return f"{short} {long}" if pair.first == "short" else f"{long} {short}"


def identities(records: Sequence[TrialRecord]) -> str:
    """Write which file each rank of each arm said it runs; more than one row per rank is more than one code."""
    seen: dict[tuple[str, int, str, str, str, bool], set[str]] = defaultdict(set)
    for one in records:
        for rank in one.identity:
            key = (one.arm, rank.rank, rank.target, rank.md5, rank.loaded_code, rank.match)
            seen[key].add(one.trial)
    head = ("arm", "rank", "target", "md5", "loaded code", "is the file's", "trials")
    rows = (
        (
            gfm.code(arm), str(rank), gfm.code(target), gfm.code(md5), gfm.code(loaded[:SHORT]),
            "yes" if match else "**no**", str(len(trials)),
        )
        for (arm, rank, target, md5, loaded, match), trials in sorted(seen.items())
    )  # fmt: skip
    return gfm.table(head, rows, frozenset((1, 6))) if seen else "No rank said what it runs.\n"


def routes(records: Sequence[TrialRecord]) -> str:
    """Write each distinct dispatch decision per arm and phase, with the ranks and depths that showed it."""
    seen: dict[tuple[str, str, str], list[tuple[int, str, int]]] = defaultdict(list)
    for one in records:
        for route in one.routes:
            values = ", ".join(f"{name}={value}" for name, value in route.values.items())
            seen[one.arm, route.phase, values].append((route.rank, str(one.condition), route.count))
    head = ("arm", "phase", "route", "at", "ranks", "calls")
    rows = (
        (
            gfm.code(arm), gfm.escape(phase), gfm.code(values),
            gfm.escape(", ".join(dict.fromkeys(at for _, at, _ in found))),
            ", ".join(map(str, sorted({rank for rank, _, _ in found}))),
            str(sum(count for _, _, count in found)),
        )
        for (arm, phase, values), found in sorted(seen.items())
    )  # fmt: skip
    return gfm.table(head, rows, frozenset((5,))) if seen else "No route was recorded.\n"


def kernels(records: Sequence[TrialRecord]) -> str:
    """Write the kernels of decode steps per cell, those that take longest first."""
    seen: dict[Cell, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in records:
        for kernel in one.kernels:
            seen[one.cell][kernel.name].append(kernel.ms_per_step)
    head = ("cell", "kernel", "ms per step, mean of ranks and trials")
    rows = (row for cell, found in sorted(seen.items()) for row in _kernels(cell, found))
    return gfm.table(head, rows, frozenset((2,))) if seen else "No kernel was recorded.\n"


def _kernels(cell: Cell, found: dict[str, list[float]]) -> Iterator[tuple[str, str, str]]:
    means = {name: sum(values) / len(values) for name, values in found.items()}
    longest = sorted(means, key=lambda name: (-means[name], name))
    for name in longest[:MOST_KERNELS]:
        yield gfm.code(str(cell)), gfm.code(name), figures.significant(means[name])
    if more := longest[MOST_KERNELS:]:
        rest = sum(means[name] for name in more)
        yield gfm.code(str(cell)), f"{len(more)} more", figures.significant(rest)

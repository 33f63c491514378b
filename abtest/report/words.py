"""What hovering over a point says: one fact per line."""

from collections.abc import Sequence

from abtest.model.flag import Flag
from abtest.model.point import Point
from abtest.report import figures
from abtest.report.neutralise import neutral

NOT_RECORDED = "not recorded"


def seconds(value: float) -> str:
    """Write a time of a request.

    >>> seconds(2.10449), seconds(0.09512)
    ('2.104 s', '0.0951 s')
    """
    return f"{figures.significant(value)} s"


def amount(value: float | None, unit: str) -> str:
    return NOT_RECORDED if value is None else f"{figures.significant(value, 4)} {unit}"


def of_point(point: Point, flags: Sequence[Flag]) -> tuple[str, ...]:
    """Say everything of one trial: where it stood, what was timed, what is odd about it."""
    short, long = point.tokens
    count = len(point.pairs)
    mean_short_s = sum(pair.t_short_s for pair in point.pairs) / count
    mean_long_s = sum(pair.t_long_s for pair in point.pairs) / count
    pairs = "one pair" if count == 1 else f"means of {count} pairs"
    names = ", ".join(dict.fromkeys([*point.flags, *(flag.name for flag in flags)]))
    leverage = "-" if point.leverage is None else f"{point.leverage:.1f}"
    lines = [
        f"{point.cell}, round {point.round}",
        f"{figures.rate(point.rate_tok_s)} tok/s, {figures.significant(point.ms_per_token)} ms per token",
        f"slot {point.slot} of its block, order {point.order} in the plan",
        f"T{short} {seconds(mean_short_s)}, T{long} {seconds(mean_long_s)} ({pairs})",
        f"leverage {leverage}",
        f"clock {amount(point.clock_mhz, 'MHz')}, power {amount(point.power_w, 'W')}",
        f"flags: {names or 'none'}",
    ]
    if point.timestamps_tok_s is not None:
        lines.insert(2, f"by time stamps {figures.rate(point.timestamps_tok_s)} tok/s")
    return tuple(neutral(line) for line in lines)


def of_pair(point: Point, place: int) -> tuple[str, ...]:
    """Say what one pair inside a trial timed."""
    pair = point.pairs[place]
    short, long = point.tokens
    ms = point.pairs_ms_per_token[place]
    lines = (
        f"{point.cell}, round {point.round}, pair {place + 1} of {len(point.pairs)}",
        f"{ms:.4g} ms per token",
        f"T{short} {seconds(pair.t_short_s)}, T{long} {seconds(pair.t_long_s)}, {pair.first} one first",
    )
    return tuple(neutral(line) for line in lines)

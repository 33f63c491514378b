"""From samples to the summary on the record: split by phase, gathered over cards; pure."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from abtest.model.telemetry import Series, Telemetry, Window

PHASES = ("prefill", "decode", "steady")
GENERATION_OF_GT_S = {2.5: 1.0, 5.0: 2.0, 8.0: 3.0, 16.0: 4.0, 32.0: 5.0, 64.0: 6.0}
# What slows a card down; idle (1), clocks set by the user (2) and a display's clock (256) do not.
REASONS = {
    4: "power-cap",
    8: "hardware",
    16: "sync-boost",
    32: "software-thermal",
    64: "hardware-thermal",
    128: "power-brake",
}
# Over the cards of a trial: the slowest clock decides, power adds up, the hottest card throttles first.
GATHERED: Mapping[str, Callable[[Iterable[float]], float]] = {
    "sm_mhz": min,
    "mem_mhz": min,
    "power_w": sum,
    "temp_c": max,
    "busy_pct": min,
    "mem_busy_pct": min,
}
EACH_TIME = tuple(GATHERED)


def link_generation(gt_s: float | None) -> float | None:
    """Name the generation of a link by its speed, GT/s.

    >>> link_generation(16.0)
    4.0
    """
    return None if gt_s is None else GENERATION_OF_GT_S.get(gt_s)


def cards_of(series: Series) -> tuple[str, ...]:
    """Name the cards that own processes were seen on; every card where that cannot be told."""
    every = sorted(
        {name.partition(".")[0] for name in series.channels if name.startswith("gpu")},
        key=lambda name: (len(name), name),
    )
    used = {one.card for one in series.processes if one.ours}
    return tuple(name for name in every if name in used) or tuple(every)


def owned_by(series: Series, container: str | None) -> Series:
    """Correct whose processes were whose by the trial's container, where control groups name it.

    Two runs of this tool on one machine start alike; only the container's id tells them apart.
    """
    if container is None:
        return series
    processes = tuple(
        one
        if one.cgroup is None or one.ours is None
        else replace(one, ours=container in one.cgroup)
        for one in series.processes
    )
    named = any(container in (one.cgroup or "") for one in series.processes)
    return replace(series, processes=processes) if named else series


def summarise(series: Series, windows: Sequence[Window]) -> Telemetry:
    """Summarise one trial.

    Args:
        windows: when its generations ran; samples outside of them enter counters, links and peaks only.
    """
    cards = cards_of(series)
    timed = [one for one in windows if one.kind == "pair"]
    decode = _inside(series, _decode_spans(timed)) or _inside(
        series, [(one.start_s, one.end_s) for one in timed]
    )
    phases = {name: _phase(series, cards, _spans(name, windows)) for name in PHASES}
    lasting_s = series.rows[-1][0] - series.rows[0][0] if len(series.rows) > 1 else 0.0
    return Telemetry(
        period_s=series.period_s,
        samples=len(series.rows),
        split=_split(timed),
        phases={name: phase for name, phase in phases.items() if phase["n"]},
        figures=_figures(series, cards, timed, decode),
        reasons=_reasons(series, cards, decode),
        foreign=tuple(
            sorted({f"{one.card}: pid {one.pid}" for one in series.processes if one.ours is False})
        ),
        absent=series.absent,
        sampler_cpu_pct=None
        if series.cpu_s is None or not lasting_s
        else round(100 * series.cpu_s / lasting_s, 2),
    )


Spans = Sequence[tuple[float, float]]


def _split(timed: Sequence[Window]) -> str:
    if not timed or any(one.decode_s is None for one in timed):
        return "none"
    return "estimated" if any(one.estimated for one in timed) else "stamped"


def _decode_spans(windows: Sequence[Window]) -> Spans:
    return [(one.decode_s, one.end_s) for one in windows if one.decode_s is not None]


def _spans(phase: str, windows: Sequence[Window]) -> Spans:
    if phase == "steady":
        return _decode_spans([one for one in windows if one.kind == "steady"])
    timed = [one for one in windows if one.kind == "pair" and one.decode_s is not None]
    if phase == "decode":
        return _decode_spans(timed)
    return [(one.start_s, one.decode_s) for one in timed if one.decode_s is not None]


def _inside(series: Series, spans: Spans) -> tuple[int, ...]:
    return tuple(
        place
        for place, (at, _) in enumerate(series.rows)
        if any(start <= at < end for start, end in spans)
    )


def _gathered(series: Series, cards: Sequence[str], quantity: str, place: int) -> float | None:
    """Gather one quantity over the cards in one sample; None as soon as one card does not say it."""
    names = [f"{card}.{quantity}" for card in cards]
    if not names or any(name not in series.channels for name in names):
        return None
    row = series.rows[place][1]
    values = [row[series.channels.index(name)] for name in names]
    known = [value for value in values if value is not None]
    return GATHERED[quantity](known) if len(known) == len(values) else None


def _phase(series: Series, cards: Sequence[str], spans: Spans) -> dict[str, float | None]:
    places = _inside(series, spans)
    found: dict[str, float | None] = {"n": float(len(places))}
    for quantity in EACH_TIME if cards else ():
        values = [_gathered(series, cards, quantity, place) for place in places]
        known = [value for value in values if value is not None]
        found[quantity] = _short(statistics.median(known)) if known else None
    return found


def _figures(
    series: Series, cards: Sequence[str], timed: Sequence[Window], decode: Sequence[int]
) -> dict[str, float | None]:
    """Give what the whole, untrimmed series says."""
    measured = _inside(series, [(one.start_s, one.end_s) for one in timed])
    clocks = [_gathered(series, cards, "sm_mhz", place) for place in measured]
    known = [clock for clock in clocks if clock is not None]
    span = (timed[0].start_s, timed[-1].end_s) if timed else None
    on_cards = {
        "first_sm_mhz": next(iter(known), None),
        "min_sm_mhz": min(known, default=None),
        "decode_sm_pct_of_cap": _of_cap(series, cards, "sm", decode),
        "decode_mem_pct_of_cap": _of_cap(series, cards, "mem", decode),
        **{
            name: _extreme(series, cards, name, min)
            for name in ("sm_max_mhz", "mem_max_mhz", "power_limit_w")
        },
        # A link slows down when idle: the most that each card reached counts, and the worst card.
        **{
            name: _extreme(series, cards, name, min)
            for name in ("link_gen", "link_gen_max", "link_width", "link_width_max")
        },
        "temp_c": _extreme(series, cards, "temp_c", max),
        "mem_used_bytes": _extreme(series, cards, "mem_used_bytes", max),
        "lost": _extreme(series, cards, "lost", max),
    }
    on_host = {
        "swapped_pages": _grown(series, "mem.swapped_pages", span),
        "cpu_throttles": _grown(series, "cpu.throttles", None),
        "cpu_mhz": _mean(series, "cpu.mhz_mean", span),
        "other_cores": _mean(series, "cpu.other_cores", span),
        "psi_cpu_pct": _mean(series, "psi.cpu_pct", span),
    }
    found = (
        {**on_cards, **on_host} if cards else on_host
    )  # a host without a card says so once, in `absent`
    return {name: _short(value) for name, value in found.items()}


def _extreme(
    series: Series,
    cards: Sequence[str],
    quantity: str,
    over_cards: Callable[[Iterable[float]], float],
) -> float | None:
    """Take each card's highest reading, then the lowest or highest of them; None if one card has none."""
    highest = [
        max((value for _, value in series.column(f"{card}.{quantity}")), default=None)
        for card in cards
    ]
    known = [value for value in highest if value is not None]
    return over_cards(known) if known and len(known) == len(highest) else None


def _of_cap(series: Series, cards: Sequence[str], kind: str, places: Sequence[int]) -> float | None:
    """Tell how far below its cap the slowest card's clock was, per cent, median over samples."""
    shares = []
    for card in cards:
        cap = _extreme(series, [card], f"{kind}_max_mhz", max)
        column = f"{card}.{kind}_mhz"
        if not cap or column not in series.channels:
            return None
        index = series.channels.index(column)
        values = [v for place in places if (v := series.rows[place][1][index]) is not None]
        if not values:
            return None
        shares.append(100 * statistics.median(values) / cap)
    return min(shares, default=None)


def _reasons(series: Series, cards: Sequence[str], places: Sequence[int]) -> tuple[str, ...] | None:
    """Name what was set in at least half of a card's decode samples; None where no card says."""
    found: set[str] = set()
    said = False
    for card in cards:
        if f"{card}.reasons" not in series.channels:
            continue
        index = series.channels.index(f"{card}.reasons")
        masks = [int(v) for place in places if (v := series.rows[place][1][index]) is not None]
        said = said or bool(masks)
        found |= {
            name
            for bit, name in REASONS.items()
            if masks and 2 * sum(bool(mask & bit) for mask in masks) >= len(masks)
        }
    return tuple(name for name in REASONS.values() if name in found) if said else None


def _during(series: Series, channel: str, span: tuple[float, float] | None) -> list[float]:
    return [
        value for at, value in series.column(channel) if span is None or span[0] <= at <= span[1]
    ]


def _grown(series: Series, channel: str, span: tuple[float, float] | None) -> float | None:
    """Tell by how much a counter grew; None unless it was read twice."""
    values = _during(series, channel, span)
    return values[-1] - values[0] if len(values) > 1 else None


def _mean(series: Series, channel: str, span: tuple[float, float] | None) -> float | None:
    values = _during(series, channel, span)
    return statistics.fmean(values) if values else None


def _short(value: float | None) -> float | None:
    """Keep five digits: records are to stay small, and no sensor has more."""
    if value is None or not value:
        return value
    if abs(value) < 1e-6:  # noqa: PLR2004 - what is left of a difference of sums
        return 0.0
    rounded = float(f"{value:.5g}")
    return float(int(value)) if abs(value) >= 1e5 else rounded  # noqa: PLR2004 - counters and bytes stay whole


def csv_text(series: Series) -> str:
    """Write the sidecar: seconds on the machine's monotonic clock, then one column per channel; empty = not read."""
    lines = [",".join(("monotonic_s", *series.channels))]
    lines += [
        ",".join((f"{at:.4f}", *("" if value is None else f"{value:.8g}" for value in row)))
        for at, row in series.rows
    ]
    return "\n".join(lines) + "\n"

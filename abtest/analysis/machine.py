"""What the machine did while the counted trials ran: clocks, neighbours, gaps. Flags only; nothing is dropped here."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from abtest.analysis.explain import flag
from abtest.model.flag import Flag
from abtest.model.names import Cell
from abtest.model.telemetry import Telemetry
from abtest.model.trial import Status, TrialRecord

LOW = 0.95  # of a clock: boost clocks wander by one or two per cent on a healthy card
BUSY_SHARE = 0.1  # of all cores, kept busy by others: more than an idle system's housekeeping
BUSY_CORES = 0.5
GAP_FACTOR, GAP_LEAST_S = (
    3.0,
    10.0,
)  # against the run's usual gap; ten seconds is how long cards keep their clocks


def usual_gap_s(records: Sequence[TrialRecord]) -> float | None:
    """Find the usual gap before a trial; None where no trial was watched."""
    known = [
        one.telemetry.idle_s
        for one in records
        if one.telemetry is not None and one.telemetry.idle_s is not None
    ]
    return statistics.median(known) if known else None


def of_cell(cell: Cell, records: Sequence[TrialRecord], usual_s: float | None) -> Iterator[Flag]:
    """Find what the machine did while a cell's trials ran; only trials that were watched can tell.

    Args:
        usual_s: the run's usual gap before a trial.
    """
    watched = [
        (one, seen)
        for one in records
        # The others read nothing that is asked for here.
        if (seen := one.telemetry) and (seen.figures or seen.reasons or seen.idle_s is not None)
    ]
    throttled = [text for _, seen in watched if (text := _throttled(seen)) is not None]
    busy = [text for record, seen in watched if (text := _host_busy(record, seen)) is not None]
    gaps = [text for _, seen in watched if (text := _idle_gap(seen, usual_s)) is not None]
    for name, texts in (("throttled", throttled), ("host-busy", busy), ("idle-gap", gaps)):
        if texts:
            figures = f"{len(texts)} of {len(records)} trials, such as {texts[-1]}"
            yield flag(name, str(cell), figures)


def _throttled(seen: Telemetry) -> str | None:
    """Name the reasons, with core and memory clock apart: decode may not feel a slow core."""
    if seen.reasons == ():
        return None
    get = seen.figures.get
    sm_pct, mem_pct = get("decode_sm_pct_of_cap"), get("decode_mem_pct_of_cap")
    if seen.reasons is None and not _is_low(sm_pct) and not _is_low(mem_pct):
        return None
    shares = (("sm", sm_pct), ("mem", mem_pct))
    known = [
        f"{kind} clock {share:.1f} % of its cap" for kind, share in shares if share is not None
    ]
    clocks = ", ".join(known)
    if seen.reasons:
        return f"{' and '.join(seen.reasons)} ({clocks or 'clocks not read'})"
    return f"{clocks} (reasons cannot be read here)"


def _is_low(share_pct: float | None) -> bool:
    return share_pct is not None and share_pct < 100 * LOW


def _host_busy(record: TrialRecord, seen: Telemetry) -> str | None:
    others = seen.figures.get("other_cores")
    if others is None or others < BUSY_CORES:
        return None
    cores = record.environment.get("machine.cpu.cores", "")
    share = BUSY_SHARE * int(cores) if cores.isdigit() else 0.0
    if others < share:
        return None
    return f"{others:.1f} of {cores or 'unknown'} cores kept busy by others"


def _idle_gap(seen: Telemetry, usual_s: float | None) -> str | None:
    first = seen.figures.get("first_sm_mhz")
    usual = None if first is None else seen.phases.get("decode", {}).get("sm_mhz")
    if first is not None and usual is not None and first < LOW * usual:
        return f"first clock {first:g} MHz, later {usual:g} MHz"
    gap_s = seen.idle_s
    if gap_s is None or usual_s is None or gap_s < max(GAP_LEAST_S, GAP_FACTOR * usual_s):
        return None
    return f"a gap of {gap_s:.0f} s before it, {usual_s:.1f} s is usual"


def links(records: Sequence[TrialRecord]) -> Iterator[Flag]:
    """Find links that stayed below what card and board can do, also under load."""
    found: Counter[str] = Counter()
    for record in records:
        figures = None if record.telemetry is None else record.telemetry.figures
        if not figures:
            continue
        for name, word in (("link_width", "x"), ("link_gen", "generation ")):
            now, most = figures.get(name), figures.get(f"{name}_max")
            if now is not None and most is not None and now < most:
                found[f"{word}{now:g} of {word}{most:g}"] += 1
    if found:
        said = ", ".join(f"{text} in {count} trials" for text, count in found.most_common())
        yield flag("link-narrow", "run", said)


def voids(chosen: Sequence[TrialRecord]) -> Iterator[Flag]:
    """Count void trials by reason: they do not enter a number, and they are not hidden."""
    reasons = Counter(
        (record.reason or "no reason").partition(":")[0]
        for record in chosen
        if record.status is Status.VOID and not record.discarded
    )
    if reasons:
        named = ", ".join(f"{count} {name}" for name, count in reasons.most_common())
        yield flag("void-trials", "run", named)

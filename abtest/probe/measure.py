"""The timed part: warm-up and pairs go through the same code; every single time is kept."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any, Iterable, Iterator, NamedTuple, Sequence

from abtest.probe.engines import Generation
from abtest.probe.errors import failed, invalid

if TYPE_CHECKING:
    from abtest.probe.engines import Adapter


class Timed(NamedTuple):
    """One generation with its wall time, the engine's own where it gives one; start and end are on our clock."""

    seconds: float
    generation: Generation
    start_s: float = 0.0
    end_s: float = 0.0


def timed(adapter: Adapter, prompts: list[list[int]], count: int) -> Timed:
    """Generate once, by the clock, and check that exactly what was asked for was done.

    Raises:
        ProbeError: another number of tokens, another prompt length, or prefills among the decode steps.
    """
    start_s = time.perf_counter()
    try:
        generation = adapter.generate(prompts, count)
    except (Exception, SystemExit) as error:
        raise failed("engine-error", f"{type(error).__name__}: {error}") from error
    end_s = time.perf_counter()
    seconds = _seconds(generation, end_s - start_s)
    _check_counts(generation, prompts, count)
    return Timed(seconds, generation, start_s, end_s)


def _seconds(generation: Generation, around_s: float) -> float:
    """Take the engine's own time where it gives one; it cannot be longer than the time around it."""
    own_s = generation.seconds
    if own_s is None:
        return around_s
    if not 0 < own_s <= around_s:
        raise invalid(
            "bad-clock",
            f"the engine says that {own_s:.6f} s passed, around it {around_s:.6f} s did",
        )
    return own_s


def _check_counts(generation: Generation, prompts: list[list[int]], count: int) -> None:
    produced = [len(ids) for ids in generation.token_ids]
    if produced != [count] * len(prompts):
        raise invalid(
            "wrong-token-count",
            f"asked for {count} tokens per sequence, the engine made {produced}: is EOS ignored?",
        )
    lengths = [len(prompt) for prompt in prompts]
    if generation.prompt_tokens != lengths:
        raise invalid(
            "wrong-prompt-length",
            f"prompts of {lengths} tokens, the engine counted {generation.prompt_tokens}",
        )
    stagger = max(generation.first_steps, default=0) - min(generation.first_steps, default=0)
    if stagger >= count:
        raise invalid(
            "prefill-in-decode",
            f"the first tokens of the {len(prompts)} sequences are {stagger} steps apart, so that no step decoded all"
            f" of them within {count} tokens: raise the token budget of a prefill step, or the short token count",
        )


def check_cache(generation: Generation, *, wanted: bool, cached: list[int] | None) -> None:
    """Check what came from a prefix cache: nothing, or (where the experiment wants one) always the same.

    Args:
        cached: tokens per sequence of the generations before this one; None for the first ones, which fill the cache.

    Raises:
        ProbeError: a cache answered that should be off, or answered unevenly.
    """
    seen = generation.cached_tokens
    if not wanted and seen != [0] * len(seen):  # no reading is not a pass
        raise invalid(
            "prefix-cache-hit",
            f"{seen} prompt tokens came from a prefix cache: switch it off",
        )
    if wanted and cached is not None and (seen != cached or min(seen) <= 0):
        raise invalid(
            "prefix-cache-uneven",
            f"{seen} prompt tokens came from the prefix cache, {cached} before: the prefills are not alike",
        )


def window(kind: str, made: Timed) -> dict[str, Any]:
    """Tell when a generation ran, and when its first token was there, for whoever watched the machine meanwhile.

    On Linux `perf_counter` is the machine's monotonic clock, which is the same in every container.
    """
    stamps = made.generation.token_times_s
    return {
        "kind": kind,
        "start_s": made.start_s,
        "first_token_s": stamps[max(made.generation.first_steps, default=0)] if stamps else None,
        "end_s": made.start_s + made.seconds,
        "tokens": len(made.generation.token_ids[0]),
    }


def steps(kind: str, made: Timed) -> dict[str, Any] | None:
    """Tell how long each step of a generation took, the prefill first; None without stamps.

    Milliseconds to the microsecond: one long stall and many slow steps have the same mean. The prefill is null where
    the stamps are of a clock of the engine's own.
    """
    stamps = made.generation.token_times_s
    if not stamps:
        return None
    gaps_s = [end - begin for begin, end in zip(stamps, stamps[1:])]
    ours = made.start_s <= stamps[0] <= made.end_s
    prefill_ms = round((stamps[0] - made.start_s) * 1e3, 3) if ours else None
    return {
        "kind": kind,
        "start_s": made.start_s,
        "tokens": len(made.generation.token_ids[0]),
        "step_ms": [prefill_ms, *(round(gap_s * 1e3, 3) for gap_s in gaps_s)],
    }


def steadily(
    adapter: Adapter, prompts: list[list[int]], count: int, steady_s: float
) -> Iterator[Timed]:
    """Generate `count` tokens again and again until `steady_s` seconds have gone by, at least once."""
    end_s = time.perf_counter() + steady_s
    while True:
        made = timed(adapter, prompts, count)
        yield made
        if made.start_s + made.seconds >= end_s:
            return


def pair(
    adapter: Adapter,
    prompts: list[list[int]],
    tokens: tuple[int, int],
    *,
    long_first: bool,
    cached: list[int] | None = None,
) -> tuple[dict[str, Any], Timed, Timed]:
    """Measure one (T_short, T_long) pair; returns it with both generations, the long one last.

    Args:
        cached: prompt tokens that each sequence must find in a prefix cache, where the experiment wants one.
    """
    order = reversed(tokens) if long_first else tokens
    made = {count: timed(adapter, prompts, count) for count in order}
    for one in made.values():
        check_cache(one.generation, wanted=adapter.prefix_cache, cached=cached)
    short, long = (made[count] for count in tokens)
    return (
        {
            "t_short_s": short.seconds,
            "t_long_s": long.seconds,
            "first": "long" if long_first else "short",
        },
        short,
        long,
    )


def pairs(
    adapter: Adapter,
    prompts: list[list[int]],
    tokens: tuple[int, int],
    count: int,
    cached: list[int] | None = None,
) -> Iterator[tuple[dict[str, Any], Timed, Timed]]:
    """Measure interleaved pairs, short first, long first, and so on, so that a linear drift cancels."""
    for number in range(count):
        yield pair(adapter, prompts, tokens, long_first=number % 2 == 1, cached=cached)


def token_times(longs: list[Timed], tokens: tuple[int, int]) -> list[float]:
    """Seconds per token inside each long request, from its stamps: the same tokens, no prefill in it.

    With a batch only steps count in which every sequence decoded: from the short count after the last sequence began
    to the long count after the first one did.
    """
    short, long = tokens
    found = []
    for made in longs:
        stamps, firsts = made.generation.token_times_s, made.generation.first_steps or (0,)
        begin, end = max(firsts) + short - 1, min(firsts) + long - 1
        if len(stamps) != max(firsts) + long or end <= begin:
            return []
        found.append((stamps[end] - stamps[begin]) / (end - begin))
    return found


def splits(made: Iterable[Timed]) -> list[str]:
    """Flag batches whose prompts did not take the same prefill steps every time.

    Prefill steps of other sizes take another time, and the differential takes that for decoding. Seen is which step gave
    whom the first token: how much of a prompt an earlier step took is not.
    """
    seen = {_firsts_per_step(one.generation.first_steps) for one in made}
    if len(seen) < 2:  # noqa: PLR2004 - one way
        return []
    ways = " or ".join("+".join(map(str, way)) for way in sorted(seen))
    return [f"prefill-uneven: first tokens by step: {ways}"]


def _firsts_per_step(first_steps: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(first_steps.count, range(max(first_steps, default=-1) + 1)))


def outputs(longs: list[Timed]) -> tuple[dict[str, Any], list[str]]:
    """Hash what was produced; greedy repeats that differ are flagged, not hidden."""
    all_ids = [made.generation.token_ids for made in longs]
    flags = ["outputs-unstable"] if any(ids != all_ids[0] for ids in all_ids) else []
    return {"sha256": ids_sha256(all_ids[0]), "ids": all_ids[0]}, flags


def ids_sha256(sequences: list[list[int]]) -> str:
    """Hash token ids, per sequence."""
    text = "|".join(",".join(map(str, ids)) for ids in sequences)
    return hashlib.sha256(text.encode()).hexdigest()

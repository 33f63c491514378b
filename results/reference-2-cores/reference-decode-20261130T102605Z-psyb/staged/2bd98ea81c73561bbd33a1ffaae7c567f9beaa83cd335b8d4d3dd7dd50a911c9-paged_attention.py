"""Attention over a paged KV cache, with the KV range of a decode step split into segments.

The image's own file walks the blocks of a KV head one after the other. This one does the same work on the
same blocks, but on `SEGMENTS` of them at once, and joins the segments' partial results at the end.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
State = tuple[Floats, Floats, Floats]

SEGMENTS = 16


def decode(
    query: Floats,
    key_cache: Floats,
    value_cache: Floats,
    block_table: Integers,
    context_length: int,
    sliding_window: int = 0,
) -> Floats:
    """Attend with one new token to the whole context.

    Args:
        query: [query heads, head size], of one sequence.
        key_cache: [blocks, block size, KV heads, head size]; `value_cache` alike.
        block_table: blocks of the sequence, in order.
        context_length: tokens in the cache, the new one included.
        sliding_window: attend to this many last tokens only; 0 for all.

    Returns:
        [query heads, head size].
    """
    head_size = query.shape[1]
    use_splitkv = sliding_window == 0 and context_length > SEGMENTS * key_cache.shape[1]
    first = max(0, context_length - sliding_window) if sliding_window else 0
    scaled = query / np.float32(math.sqrt(head_size))
    kv_heads = key_cache.shape[2]
    group = query.shape[0] // kv_heads
    out = np.empty_like(query)
    for head in range(kv_heads):
        rows = slice(head * group, (head + 1) * group)
        keys, values = key_cache[:, :, head], value_cache[:, :, head]
        if use_splitkv:
            out[rows] = split(scaled[rows], keys, values, block_table, context_length)
        else:
            _, total, mixed = walk(scaled[rows], keys, values, block_table, (first, context_length))
            out[rows] = mixed / total[:, None]
    return out


def split(
    query: Floats, keys: Floats, values: Floats, block_table: Integers, length: int
) -> Floats:
    """Cut the whole blocks of one KV head into segments, work on all segments at once, then reduce.

    The last, unfinished block is folded into the reduced state by itself: no lane ever works on padding.
    """
    block_size = keys.shape[1]
    whole = length // block_size
    per_segment, longer = divmod(whole, SEGMENTS)
    starts = np.arange(SEGMENTS) * per_segment + np.minimum(np.arange(SEGMENTS), longer)
    group, head_size = query.shape
    state = (
        np.full((SEGMENTS, group), -np.inf, np.float32),
        np.zeros((SEGMENTS, group), np.float32),
        np.zeros((SEGMENTS, group, head_size), np.float32),
    )
    for step in range(per_segment):
        blocks = block_table[starts + step]
        state = tile(query, keys[blocks], values[blocks], state)
    if longer:  # the first segments have one block more
        blocks = block_table[starts[:longer] + per_segment]
        more = tile(query, keys[blocks], values[blocks], tuple(part[:longer] for part in state))
        state = tuple(
            np.concatenate([new, old[longer:]]) for new, old in zip(more, state, strict=True)
        )
    state = reduce_segments(*state)
    if length % block_size:
        last = block_table[whole]
        rest = slice(0, length % block_size)
        state = tile(query, keys[last, rest], values[last, rest], state)
    _, total, mixed = state
    return mixed / total[:, None]


def reduce_segments(top: Floats, total: Floats, mixed: Floats) -> tuple[Floats, Floats, Floats]:
    """Join the segments' partial softmaxes by log-sum-exp."""
    best = top.max(axis=0)
    keep = np.exp(top - best)
    return best, (total * keep).sum(axis=0), (mixed * keep[:, :, None]).sum(axis=0)


def walk(
    query: Floats, keys: Floats, values: Floats, block_table: Integers, span: tuple[int, int]
) -> tuple[Floats, Floats, Floats]:
    """Walk the blocks of one KV head with an online softmax.

    Returns:
        Running maximum [group], sum of weights [group], weighted values [group, head size].
    """
    block_size = keys.shape[1]
    group = query.shape[0]
    state = (
        np.full(group, -np.inf, np.float32),
        np.zeros(group, np.float32),
        np.zeros((group, query.shape[1]), np.float32),
    )
    for place in range(span[0] // block_size, -(-span[1] // block_size)):
        block = block_table[place]
        low = max(0, span[0] - place * block_size)
        high = min(block_size, span[1] - place * block_size)
        state = tile(query, keys[block, low:high], values[block, low:high], state)
    return state


def tile(query: Floats, keys: Floats, values: Floats, state: State) -> State:
    """Fold one block, or one block of each segment, into the running softmax."""
    top, total, mixed = state
    scores = query @ np.swapaxes(keys, -1, -2)
    new_top = np.maximum(top, scores.max(axis=-1))
    weights = np.exp(scores - new_top[..., None])
    keep = np.exp(top - new_top)
    return new_top, total * keep + weights.sum(axis=-1), mixed * keep[..., None] + weights @ values


def prefill(
    query: Floats,
    key_cache: Floats,
    value_cache: Floats,
    block_table: Integers,
    start: int,
    sliding_window: int = 0,
) -> Floats:
    """Attend with a chunk of new tokens to everything before them and to themselves.

    Args:
        query: [new tokens, query heads, head size].
        start: tokens that were in the cache before the chunk.

    Returns:
        [new tokens, query heads, head size].
    """
    count, query_heads, head_size = query.shape
    block_size, kv_heads = key_cache.shape[1:3]
    group = query_heads // kv_heads
    end = start + count
    used = block_table[: -(-end // block_size)]
    places = np.arange(start, end)[:, None] - np.arange(end)[None, :]
    hidden = places < 0
    if sliding_window:
        hidden |= places >= sliding_window
    out = np.empty_like(query)
    scale = np.float32(1 / math.sqrt(head_size))
    for head in range(kv_heads):
        keys = key_cache[used, :, head].reshape(-1, head_size)[:end]
        values = value_cache[used, :, head].reshape(-1, head_size)[:end]
        for row in range(head * group, (head + 1) * group):
            scores = (query[:, row] * scale) @ keys.T
            scores[hidden] = -np.inf
            scores -= scores.max(axis=1, keepdims=True)
            weights = np.exp(scores, out=scores)
            out[:, row] = (weights @ values) / weights.sum(axis=1, keepdims=True)
    return out

"""Attention over a paged KV cache: the keys and values of a sequence lie in blocks named by its block table."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


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
    use_splitkv = False  # one program per KV head walks all blocks, one after the other
    first = max(0, context_length - sliding_window) if sliding_window else 0
    scaled = query / np.float32(math.sqrt(head_size))
    kv_heads = key_cache.shape[2]
    group = query.shape[0] // kv_heads
    out = np.empty_like(query)
    for head in range(kv_heads):
        rows = slice(head * group, (head + 1) * group)
        keys, values = key_cache[:, :, head], value_cache[:, :, head]
        _, total, mixed = walk(scaled[rows], keys, values, block_table, (first, context_length))
        out[rows] = mixed / total[:, None]
    assert not use_splitkv
    return out


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


def tile(
    query: Floats, keys: Floats, values: Floats, state: tuple[Floats, Floats, Floats]
) -> tuple[Floats, Floats, Floats]:
    """Fold one block into the running softmax."""
    top, total, mixed = state
    scores = query @ keys.T
    new_top = np.maximum(top, scores.max(axis=1))
    weights = np.exp(scores - new_top[:, None])
    keep = np.exp(top - new_top)
    return new_top, total * keep + weights.sum(axis=1), mixed * keep[:, None] + weights @ values


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

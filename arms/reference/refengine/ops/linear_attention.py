"""Gated linear attention: a state of constant size per head, whatever the depth."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def step(
    query: Floats, key: Floats, value: Floats, log_decay: Floats, state: Floats
) -> tuple[Floats, Floats]:
    """Take one token: [heads, key], [heads, key], [heads, value], [heads], state [heads, key, value]."""
    state = state * np.exp(log_decay)[:, None, None] + key[:, :, None] * value[:, None, :]
    return np.einsum("hk,hkv->hv", query, state), state


def chunk(
    query: Floats, key: Floats, value: Floats, log_decay: Floats, state: Floats
) -> tuple[Floats, Floats]:
    """Take a chunk of tokens in parallel: [tokens, heads, ..]; the same result as token by token."""
    query, key, value = (np.ascontiguousarray(part.swapaxes(0, 1)) for part in (query, key, value))
    since = np.cumsum(log_decay, axis=0, dtype=np.float32).T  # [heads, tokens]
    decay = np.exp(np.tril(since[:, :, None] - since[:, None, :]))
    inside = np.tril((query @ key.swapaxes(1, 2)) * decay) @ value
    before = np.exp(since)[:, :, None] * (query @ state)
    left = np.exp(since[:, -1:] - since)[:, :, None] * key
    state = state * np.exp(since[:, -1])[:, None, None] + left.swapaxes(1, 2) @ value
    return (inside + before).swapaxes(0, 1), state

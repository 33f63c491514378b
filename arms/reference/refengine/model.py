"""The forward pass of one rank."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from refengine import context, weights
from refengine.cache import PagedCache
from refengine.config import EngineConfig
from refengine.ops import linear_attention, paged_attention

Floats = NDArray[np.float32]
AllReduce = Callable[[Floats], Floats]


class Model:
    """One rank's share of the model, with its caches and states.

    Args:
        all_reduce: sums an array over the ranks, the same bits in every rank.
    """

    def __init__(self, config: EngineConfig, rank: int, all_reduce: AllReduce) -> None:
        self._config = config
        self._sizes = config.model
        self._ranks = config.tensor_parallel
        self._sum = all_reduce
        self._weights = weights.make(config.model, rank, config.tensor_parallel)
        full = [layer for layer in range(config.model.layers) if config.model.is_full(layer)]
        self._cache = PagedCache(config, full)
        self._states: dict[tuple[int, int], Floats] = {}

    def reset(self) -> None:
        """Forget every sequence."""
        self._states.clear()

    def prefill(self, sequence: int, tokens: list[int]) -> int:
        """Take a prompt in chunks; returns the first produced token."""
        hidden = np.zeros((1, self._sizes.hidden), np.float32)
        for start in range(0, len(tokens), self._config.prefill_chunk):
            part = tokens[start : start + self._config.prefill_chunk]
            context.enter(context.ForwardContext("prefill", len(part), start + len(part)))
            hidden = self._forward(sequence, part, start)
        context.enter()
        return self._choose(hidden[-1])

    def decode(self, sequence: int, token: int, length: int) -> int:
        """Take one token at place `length` (counted from 0); returns the next."""
        context.enter(context.ForwardContext("decode", 1, length + 1))
        hidden = self._forward(sequence, [token], length)
        context.enter()
        return self._choose(hidden[-1])

    def _choose(self, hidden: Floats) -> int:
        return int(np.argmax(_normalised(hidden) @ self._weights.head))

    def _forward(self, sequence: int, tokens: list[int], start: int) -> Floats:
        hidden = self._weights.embedding[tokens]
        for number, layer in enumerate(self._weights.layers):
            mixer = self._full if self._sizes.is_full(number) else self._linear
            mixed = mixer(number, layer, sequence, _normalised(hidden), start)
            hidden = hidden + self._sum(mixed @ layer.out)
            inner = _normalised(hidden)
            gated = _silu(inner @ layer.up_gate) * (inner @ layer.up)
            hidden = hidden + self._sum(gated @ layer.down)
        return hidden

    def _full(
        self, number: int, layer: weights.LayerWeights, sequence: int, inputs: Floats, start: int
    ) -> Floats:
        count, size = len(inputs), self._sizes.head_size
        query = (inputs @ layer.query).reshape(count, -1, size)
        keys = (inputs @ layer.key).reshape(count, -1, size)
        values = (inputs @ layer.value).reshape(count, -1, size)
        cache = self._cache
        cache.put(number, sequence, start, keys, values)
        stored = cache.keys[number], cache.values[number], cache.table(sequence)
        if context.current().phase == "decode":
            return paged_attention.decode(query[0], *stored, start + 1).reshape(1, -1)
        return paged_attention.prefill(query, *stored, start).reshape(count, -1)

    def _linear(
        self, number: int, layer: weights.LayerWeights, sequence: int, inputs: Floats, start: int
    ) -> Floats:
        sizes = self._sizes
        count, heads = len(inputs), sizes.linear_heads // self._ranks
        query = (inputs @ layer.query).reshape(count, heads, -1)
        key = (inputs @ layer.key).reshape(count, heads, -1) / np.float32(sizes.linear_key)
        value = (inputs @ layer.value).reshape(count, heads, -1)
        assert layer.gate is not None
        log_decay = -np.logaddexp(np.float32(0), -(inputs @ layer.gate)) / np.float32(16)
        state = None if start == 0 else self._states.get((number, sequence))
        if state is None:
            state = np.zeros((heads, sizes.linear_key, sizes.linear_value), np.float32)
        if count == 1:
            out, state = linear_attention.step(query[0], key[0], value[0], log_decay[0], state)
        else:
            out, state = self._chunks(query, key, value, log_decay, state)
        self._states[number, sequence] = state
        return out.reshape(count, -1)

    def _chunks(
        self, query: Floats, key: Floats, value: Floats, log_decay: Floats, state: Floats
    ) -> tuple[Floats, Floats]:
        """Work in pieces of 64 tokens: the cost within a piece grows with its square."""
        outs = []
        for low in range(0, len(query), 64):
            part = slice(low, low + 64)
            out, state = linear_attention.chunk(
                query[part], key[part], value[part], log_decay[part], state
            )
            outs.append(out)
        return np.concatenate(outs), state


def _normalised(hidden: Floats) -> Floats:
    mean_square = np.mean(hidden * hidden, axis=-1, keepdims=True)
    return hidden / np.sqrt(mean_square + np.float32(1e-6))


def _silu(values: Floats) -> Floats:
    return values / (np.float32(1) + np.exp(-values))

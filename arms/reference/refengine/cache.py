"""The paged KV cache of one rank: blocks, and the tables that say whose they are."""

import numpy as np
from numpy.typing import NDArray

from refengine.config import EngineConfig

Floats = NDArray[np.float32]


class PagedCache:
    """Keys and values of all full-attention layers.

    Blocks are handed out in a fixed shuffled order, so that a sequence never lies in one piece.
    """

    def __init__(self, config: EngineConfig, layers: list[int]) -> None:
        model = config.model
        self.block_size = config.block_size
        per_sequence = -(-config.max_context // config.block_size)
        count = per_sequence * config.max_batch
        shape = (
            count,
            config.block_size,
            model.kv_heads // config.tensor_parallel,
            model.head_size,
        )
        self.keys = {layer: np.zeros(shape, np.float32) for layer in layers}
        self.values = {layer: np.zeros(shape, np.float32) for layer in layers}
        shuffled = np.random.default_rng(model.seed).permutation(count)
        self._tables = shuffled.reshape(config.max_batch, per_sequence)

    def table(self, sequence: int) -> NDArray[np.int64]:
        """Return the blocks of one sequence, in order."""
        return self._tables[sequence]

    def put(self, layer: int, sequence: int, start: int, keys: Floats, values: Floats) -> None:
        """Store the keys and values ([tokens, KV heads, head size]) of new tokens."""
        places = np.arange(start, start + len(keys))
        blocks, offsets = self.table(sequence)[places // self.block_size], places % self.block_size
        self.keys[layer][blocks, offsets] = keys
        self.values[layer][blocks, offsets] = values

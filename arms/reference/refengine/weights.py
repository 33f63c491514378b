"""Fixed random weights; each rank takes its slice of the same matrices."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refengine.config import VOCABULARY, ModelConfig

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One layer of one rank: the token mixer's matrices, then the gated MLP's."""

    query: Floats
    key: Floats
    value: Floats
    out: Floats
    gate: Floats | None  # of linear attention only
    up: Floats
    up_gate: Floats
    down: Floats


@dataclass(frozen=True, slots=True)
class Weights:
    """All of one rank: the embedding and the head over the vocabulary are whole in every rank."""

    embedding: Floats
    head: Floats
    layers: tuple[LayerWeights, ...]


def make(model: ModelConfig, rank: int, ranks: int) -> Weights:
    """Draw the whole model's weights from its seed and keep the rank's share."""
    source = np.random.default_rng(model.seed)

    def matrix(rows: int, columns: int) -> Floats:
        return source.standard_normal((rows, columns), dtype=np.float32) / np.float32(np.sqrt(rows))

    embedding = source.standard_normal((VOCABULARY, model.hidden), dtype=np.float32)
    head = matrix(model.hidden, VOCABULARY)
    layers = tuple(_layer(model, layer, matrix, (rank, ranks)) for layer in range(model.layers))
    return Weights(embedding, head, layers)


def _layer(
    model: ModelConfig, layer: int, matrix: Callable[[int, int], Floats], share: tuple[int, int]
) -> LayerWeights:
    full = model.is_full(layer)
    hidden = model.hidden
    query = model.query_heads * model.head_size if full else model.linear_heads * model.linear_key
    key = model.kv_heads * model.head_size if full else model.linear_heads * model.linear_key
    value = model.kv_heads * model.head_size if full else model.linear_heads * model.linear_value
    mixed = model.query_heads * model.head_size if full else value
    drawn = {
        "query": matrix(hidden, query),
        "key": matrix(hidden, key),
        "value": matrix(hidden, value),
        "out": matrix(mixed, hidden),
        "gate": matrix(hidden, model.linear_heads),
        "up": matrix(hidden, model.inner),
        "up_gate": matrix(hidden, model.inner),
        "down": matrix(model.inner, hidden),
    }
    rows = {
        "out",
        "down",
    }  # these take a rank's share as input, and their products are summed over ranks
    cut = {
        name: _share(value, share, axis=0 if name in rows else 1) for name, value in drawn.items()
    }
    return LayerWeights(**{**cut, "gate": None if full else cut["gate"]})


def _share(matrix: Floats, share: tuple[int, int], *, axis: int) -> Floats:
    rank, ranks = share
    return np.ascontiguousarray(np.split(matrix, ranks, axis=axis)[rank])

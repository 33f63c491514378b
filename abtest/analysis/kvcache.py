"""How much of the KV cache a decode step reads, from the model's own configuration; pure arithmetic."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BYTES = {
    "float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2,
    "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "int8": 1,
}  # fmt: skip
FULL = ("full_attention", "attention", "global")


@dataclass(frozen=True, slots=True)
class KvCache:
    """What one rank keeps of one position.

    Args:
        layers: those whose cache grows with the context.
        kv_heads: of this rank.
        width: numbers per head and position, keys and values together.
    """

    layers: int
    kv_heads: int
    width: int
    bytes_per_number: int

    @property
    def bytes_per_position(self) -> int:
        """Bytes that each decode step reads for each position of the context, on one rank."""
        return self.layers * self.kv_heads * self.width * self.bytes_per_number


def kv_cache(
    config: Mapping[str, Any], tensor_parallel: int, cache_dtype: str = "auto"
) -> KvCache | None:
    """Read a model's `config.json`; None where it does not say enough.

    Layers with a sliding window or a recurrent state do not grow with the context and are left out. Heads are shared
    out among ranks; a rank has one at least. A latent cache (MLA) is one head on every rank, keys and values in one.

    >>> qwen = {"num_hidden_layers": 16, "num_key_value_heads": 4, "head_dim": 256, "dtype": "bfloat16"}
    >>> kv_cache(qwen, 1).bytes_per_position
    65536
    """
    text = config.get("text_config")
    said = {**config, **text} if isinstance(text, Mapping) else dict(config)
    layers, number = _growing_layers(said), _bytes(said, cache_dtype)
    if layers is None or number is None:
        return None
    latent = said.get("kv_lora_rank")
    if isinstance(latent, int):
        return KvCache(layers, 1, latent + int(said.get("qk_rope_head_dim") or 0), number)
    heads = said.get("num_key_value_heads") or said.get("num_attention_heads")
    width = _head_width(said)
    if not isinstance(heads, int) or width is None:
        return None
    return KvCache(layers, max(1, heads // max(1, tensor_parallel)), 2 * width, number)


def _growing_layers(said: Mapping[str, Any]) -> int | None:
    kinds = said.get("layer_types") or said.get("layers_block_type")
    if isinstance(kinds, list | tuple):
        return sum(kind in FULL for kind in kinds)
    if isinstance(kinds, Mapping):  # counted already, by the probe
        return sum(int(count) for kind, count in kinds.items() if kind in FULL)
    layers, every = said.get("num_hidden_layers"), said.get("full_attention_interval")
    if not isinstance(layers, int):
        return None
    return layers // every if isinstance(every, int) and every > 0 else layers


def _head_width(said: Mapping[str, Any]) -> int | None:
    if isinstance(said.get("head_dim"), int):
        return int(said["head_dim"])
    hidden, heads = said.get("hidden_size"), said.get("num_attention_heads")
    return hidden // heads if isinstance(hidden, int) and isinstance(heads, int) and heads else None


def _bytes(said: Mapping[str, Any], cache_dtype: str) -> int | None:
    name = said.get("dtype") or said.get("torch_dtype") if cache_dtype == "auto" else cache_dtype
    return BYTES.get(str(name))


def ns_per_kib(slope_ms_per_1000: float, bytes_per_position: int) -> float:
    """Give what one more KiB of cache costs a decode step: the slope over depth against what it reads.

    >>> round(ns_per_kib(1.0, 65536), 3)
    15.625
    """
    return slope_ms_per_1000 * 1e6 / (1000 * bytes_per_position / 1024)

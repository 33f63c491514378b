"""What an engine is started with, and the sizes of the model."""

from dataclasses import dataclass

VOCABULARY = 256  # bytes
EOS = 0


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Sizes; the defaults are small enough for two cores."""

    layers: int = 8
    full_attention_every: int = 4
    hidden: int = 256
    query_heads: int = 4
    kv_heads: int = 2
    head_size: int = 64
    linear_heads: int = 4
    linear_key: int = 32
    linear_value: int = 64
    inner: int = 512
    seed: int = 20260131

    def is_full(self, layer: int) -> bool:
        """Tell whether a layer attends to the whole context."""
        return layer % self.full_attention_every == self.full_attention_every - 1


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """One engine.

    Args:
        tensor_parallel: number of worker processes; each holds its share of the heads.
        max_context: prompt and produced tokens of one sequence, at most.
        prefill_chunk: tokens that are prefilled in one step.
        block_size: tokens per block of the KV cache.
        in_process: run the only worker in the calling process (tensor_parallel 1).
        rpc_timeout_s: how long a worker may be silent before it is an error.
    """

    tensor_parallel: int = 1
    max_context: int = 8320
    max_batch: int = 1
    ignore_eos: bool = True
    prefill_chunk: int = 512
    block_size: int = 16
    in_process: bool = False
    rpc_timeout_s: float = 60.0
    model: ModelConfig = ModelConfig()

    def __post_init__(self) -> None:
        heads = (self.model.kv_heads, self.model.query_heads, self.model.linear_heads)
        if self.tensor_parallel < 1 or any(count % self.tensor_parallel for count in heads):
            raise ValueError(
                f"tensor_parallel {self.tensor_parallel} does not divide the heads {heads}"
            )
        if self.in_process and self.tensor_parallel != 1:
            raise ValueError("in_process needs tensor_parallel 1")
        if min(self.max_context, self.max_batch, self.prefill_chunk, self.block_size) < 1:
            raise ValueError(
                "max_context, max_batch, prefill_chunk and block_size must be 1 or more"
            )

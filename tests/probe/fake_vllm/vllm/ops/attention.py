"""The target of the tests: one decision, one number."""

import array
import importlib.util

if importlib.util.find_spec("torch") is not None:
    import torch  # noqa: F401 - as every kernel of a device's does


class Builder:
    def __init__(self, heads: int) -> None:
        self.heads = heads

    def build(self, seq_len: int, threads: int) -> int:
        split = 2 if threads > 1 else 0
        metadata = array.array("i", [7, split])
        return seq_len * self.heads + metadata[1]

"""What was asked of the engine, held against what its workers say they got; pure."""

from __future__ import annotations

import json
from typing import Mapping, Sequence

SUFFIXES = ("_VLLM_V1", "_VLLM", "_V1")  # older versions append them to a backend's name


def refused(requested: Mapping[str, str], observed: Sequence[Mapping[str, str]]) -> list[str]:
    """List what some rank got differently.

    Args:
        requested: such as {"backend.decoder": "TRITON_ATTN"}.
        observed: per rank, with the same keys, several values joined by "+" (hybrid models); what no rank tells is not listed here (see `untold`).

    >>> refused({"backend.decoder": "TRITON_ATTN"}, [{"backend.decoder": "FLASH_ATTN"}])
    ['rank 0: backend.decoder is FLASH_ATTN, TRITON_ATTN was asked for']
    """
    return [
        f"rank {rank}: {key} is {seen[key]}, {wanted} was asked for"
        for key, wanted in requested.items()
        for rank, seen in enumerate(observed)
        if key in seen and _short(wanted) not in map(_short, seen[key].split("+"))
    ]


def untold(requested: Mapping[str, str], observed: Sequence[Mapping[str, str]]) -> list[str]:
    """List what was asked for and some rank says nothing about."""
    return [key for key in requested if any(key not in seen for seen in observed)]


def _short(name: str) -> str:
    for suffix in SUFFIXES:
        name = name[: -len(suffix)] if name.endswith(suffix) else name
    return name


def runs_eagerly(facts: Mapping[str, str], batch: int) -> bool:
    """Tell whether graphs are on and yet the batch is larger than every captured one.

    >>> runs_eagerly({"engine.graph_mode": "FULL", "engine.graph_sizes": "[1, 2]"}, 4)
    True
    """
    if facts.get("engine.graph_mode", "NONE") in ("NONE", "None", "absent"):
        return False
    try:
        sizes = json.loads(facts.get("engine.graph_sizes", "[]"))
    except ValueError:
        return False
    return isinstance(sizes, list) and bool(sizes) and batch > max(sizes)

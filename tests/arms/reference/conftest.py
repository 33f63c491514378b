"""The reference engine on the import path, both kernel files, and paged caches to run them on."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

REFERENCE = Path(__file__).resolve().parents[3] / "arms" / "reference"
SPARE = 3  # blocks that belong to nobody

if str(REFERENCE) not in sys.path:
    sys.path.insert(0, str(REFERENCE))


def _load(path: Path) -> ModuleType:
    found = importlib.util.spec_from_file_location("reference_splitkv", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of the reference experiment."""
    return REFERENCE


@pytest.fixture(scope="session")
def kernels() -> dict[str, ModuleType]:
    """Both kernel files as modules, by arm."""
    return {
        "stock": importlib.import_module("refengine.ops.paged_attention"),
        "splitkv": _load(REFERENCE / "splitkv.py"),
    }


@pytest.fixture(scope="session")
def paged() -> Callable[..., SimpleNamespace]:
    """A maker of one sequence in a paged cache, with the same tokens in one piece beside it."""
    return _paged


def _paged(
    length: int,
    *,
    kv_heads: int = 2,
    group: int = 2,
    head_size: int = 8,
    block_size: int = 16,
    seed: int = 0,
) -> SimpleNamespace:
    """Blocks are shuffled; whatever is no token of the sequence is NaN, so that reading it shows."""
    source = np.random.default_rng(seed)
    used = -(-length // block_size)
    table = source.permutation(used + SPARE)[:used]
    keys, values = source.standard_normal((2, length, kv_heads, head_size)).astype(np.float32)
    shape = (used + SPARE, block_size, kv_heads, head_size)
    key_cache, value_cache = np.full((2, *shape), np.nan, np.float32)
    places = np.arange(length)
    where = table[places // block_size], places % block_size
    key_cache[where], value_cache[where] = keys, values
    queries = source.standard_normal((length, kv_heads * group, head_size)).astype(np.float32)
    return SimpleNamespace(
        queries=queries,
        keys=keys,
        values=values,
        where=where,
        stored=(key_cache, value_cache, table),
    )

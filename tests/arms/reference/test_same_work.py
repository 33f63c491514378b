"""Both kernel files do the same arithmetic on the same tokens; only its order differs."""

import ast
import inspect
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

Paged = Callable[..., SimpleNamespace]
Kernels = dict[str, ModuleType]

ARMS = ("stock", "splitkv")
# Whole blocks that 16 segments share evenly, unevenly, and with a partial block behind them.
DEPTHS = [5, 256, 257, 272, 500, 512, 2048, 2064, 2077, 8192]


class Counter:
    """Stands in for `tile`: counts what is handed over, then lets the real one work."""

    def __init__(self, tile: Callable[..., Any]) -> None:
        self.tile = tile
        self.multiply_adds = 0
        self.elements = 0
        self.keys: list[Any] = []
        self.values: list[Any] = []

    def __call__(self, query: Any, keys: Any, values: Any, state: Any) -> Any:
        group = query.shape[-2]
        self.multiply_adds += group * keys.size + group * values.size  # scores, then the mix
        self.elements += keys.size + values.size
        self.keys.append(keys)
        self.values.append(values)
        return self.tile(query, keys, values, state)


def count(module: ModuleType, case: SimpleNamespace, length: int) -> Counter:
    counter = Counter(module.tile)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "tile", counter)
        module.decode(case.queries[-1], *case.stored, length)
    return counter


def changed(module: ModuleType, old: str, new: str) -> ModuleType:
    source = inspect.getsource(module)
    assert source.count(old) == 1
    copy = ModuleType("changed")
    exec(compile(source.replace(old, new), "changed.py", "exec"), copy.__dict__)
    return copy


@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("length", DEPTHS)
def test_both_kernels_do_equal_work(
    kernels: Kernels, paged: Paged, length: int, group: int
) -> None:
    case = paged(length, group=group)
    stock, splitkv = (count(kernels[arm], case, length) for arm in ARMS)
    assert stock.multiply_adds == splitkv.multiply_adds == 2 * group * case.keys.size
    assert stock.elements == splitkv.elements == case.keys.size + case.values.size


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("length", DEPTHS)
def test_each_token_is_read_exactly_once(
    kernels: Kernels, paged: Paged, arm: str, length: int
) -> None:
    """Every key and value carries a number of its own."""
    case = paged(length)
    numbers = np.arange(case.keys.size, dtype=np.float32).reshape(case.keys.shape)
    key_cache, value_cache, _ = case.stored
    key_cache[case.where] = numbers
    value_cache[case.where] = numbers
    case.queries[:] = 0  # scores of huge keys would overflow
    counter = count(kernels[arm], case, length)
    for read in (counter.keys, counter.values):
        seen = np.sort(np.concatenate([part.ravel() for part in read]))
        np.testing.assert_array_equal(seen, numbers.ravel())


def test_work_on_padding_would_be_noticed(kernels: Kernels, paged: Paged) -> None:
    """The planted fault takes the unfinished block whole."""
    padded = changed(kernels["splitkv"], "slice(0, length % block_size)", "slice(0, block_size)")
    case = paged(500)
    stock, other = (count(module, case, 500) for module in (kernels["stock"], padded))
    assert other.multiply_adds > stock.multiply_adds
    assert other.elements > stock.elements


def test_a_skipped_block_would_be_noticed(kernels: Kernels, paged: Paged) -> None:
    lazy = changed(kernels["splitkv"], "if longer:", "if False:")
    case = paged(500)
    stock, other = (count(module, case, 500) for module in (kernels["stock"], lazy))
    assert other.elements < stock.elements


@pytest.mark.parametrize("arm", ARMS)
def test_decode_multiplies_matrices_in_tile_only(kernels: Kernels, arm: str) -> None:
    """Else there would be work that the counts above do not see."""
    tree = ast.parse(inspect.getsource(kernels[arm]))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    multiplying = {
        function.name
        for function in functions
        if any(isinstance(node, ast.MatMult) for node in ast.walk(function))
    }
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert multiplying == {"tile", "prefill"}
    assert not attributes & {"dot", "einsum", "inner", "matmul", "tensordot", "vdot"}


@pytest.mark.parametrize("arm", ARMS)
def test_no_kernel_knows_of_a_clock(kernels: Kernels, arm: str) -> None:
    source = inspect.getsource(kernels[arm])
    imported: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert imported == {"math", "numpy", "numpy.typing"}
    assert "time" not in source
    assert "sleep" not in source

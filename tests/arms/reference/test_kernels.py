"""Both kernel files compute the attention that a dense softmax computes."""

from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

Paged = Callable[..., SimpleNamespace]
Kernels = dict[str, ModuleType]

ARMS = ("stock", "splitkv")
RECORDED = {"head_size", "sliding_window", "use_splitkv"}

SHAPES = st.fixed_dictionaries(
    {
        "kv_heads": st.sampled_from([1, 2]),
        "group": st.sampled_from([1, 2, 4]),
        "head_size": st.sampled_from([8, 64]),
        "block_size": st.sampled_from([4, 16]),
        "seed": st.integers(0, 2**16),
    }
)


def dense(case: SimpleNamespace, place: int, window: int = 0) -> NDArray[np.float64]:
    """Attend from one token, in float64 and without blocks: [query heads, head size]."""
    first = max(0, place + 1 - window) if window else 0
    query = case.queries[place].astype(np.float64)
    group = query.shape[0] // case.keys.shape[1]
    keys = np.repeat(case.keys[first : place + 1], group, axis=1).astype(np.float64)
    values = np.repeat(case.values[first : place + 1], group, axis=1).astype(np.float64)
    scores = np.einsum("hd,thd->ht", query, keys) / np.sqrt(query.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mixed: NDArray[np.float64] = np.einsum("ht,thd->hd", weights, values)
    return mixed


@pytest.mark.parametrize("arm", ARMS)
@settings(max_examples=60, deadline=None)
@given(length=st.integers(1, 700), shape=SHAPES)
def test_decode_equals_a_dense_softmax(
    kernels: Kernels, paged: Paged, arm: str, length: int, shape: dict[str, int]
) -> None:
    case = paged(length, **shape)
    got = kernels[arm].decode(case.queries[-1], *case.stored, length)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, dense(case, length - 1), atol=1e-5)


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("length", [256, 257, 272, 511, 512, 2048, 2055])
def test_decode_is_right_where_segments_begin_and_end(
    kernels: Kernels, paged: Paged, arm: str, length: int
) -> None:
    """The first depth is the deepest that splitkv walks; at 257 every segment holds one block."""
    case = paged(length)
    got = kernels[arm].decode(case.queries[-1], *case.stored, length)
    np.testing.assert_allclose(got, dense(case, length - 1), atol=1e-5)


@pytest.mark.parametrize("arm", ARMS)
@settings(max_examples=40, deadline=None)
@given(length=st.integers(1, 400), window=st.integers(1, 450), shape=SHAPES)
def test_decode_keeps_to_a_sliding_window(
    kernels: Kernels, paged: Paged, arm: str, length: int, window: int, shape: dict[str, int]
) -> None:
    case = paged(length, **shape)
    got = kernels[arm].decode(case.queries[-1], *case.stored, length, window)
    np.testing.assert_allclose(got, dense(case, length - 1, window), atol=1e-5)


@pytest.mark.parametrize("arm", ARMS)
@settings(max_examples=30, deadline=None)
@given(start=st.integers(0, 90), count=st.integers(1, 40), shape=SHAPES, data=st.data())
def test_prefill_equals_a_dense_softmax(
    kernels: Kernels,
    paged: Paged,
    arm: str,
    start: int,
    count: int,
    shape: dict[str, int],
    data: st.DataObject,
) -> None:
    window = data.draw(st.sampled_from([0, 1, 7, 200]))
    case = paged(start + count, **shape)
    got = kernels[arm].prefill(case.queries[start:], *case.stored, start, window)
    wanted = np.stack([dense(case, place, window) for place in range(start, start + count)])
    np.testing.assert_allclose(got, wanted, atol=1e-5)


@pytest.mark.parametrize("arm", ARMS)
def test_decode_has_the_locals_that_the_experiment_records(kernels: Kernels, arm: str) -> None:
    assert set(kernels[arm].decode.__code__.co_varnames) >= RECORDED


@pytest.mark.parametrize(("window", "walked"), [(0, 0), (300, 2)])
def test_splitkv_walks_only_under_a_window(
    kernels: Kernels, paged: Paged, monkeypatch: pytest.MonkeyPatch, window: int, walked: int
) -> None:
    """One walk per KV head, or none: else the tests above would not have tried the segments."""
    calls: list[tuple[object, ...]] = []
    module = kernels["splitkv"]
    walk = module.walk

    def noted(*args: object) -> object:
        calls.append(args)
        return walk(*args)

    monkeypatch.setattr(module, "walk", noted)
    case = paged(512)
    module.decode(case.queries[-1], *case.stored, 512, window)
    assert len(calls) == walked

"""From a profile's events to the kernels of one decode step."""

from typing import Any

import pytest

from abtest.probe.kernels import MOST, MOST_UNEVEN_SHARE, OTHERS, covers_layers, decode_kernels

LAYERS = 2


def mark(phase: str, at_us: float, sequences: int = 1) -> dict[str, Any]:
    name = f"abtest:{phase}:{sequences}"
    return {"cat": "user_annotation", "name": name, "ts": at_us, "dur": 5.0}


def launched(
    name: str, at_us: float, runs_us: float, number: int, dur_us: float = 100.0
) -> list[dict[str, Any]]:
    """A launch on the host, and the kernel that runs later; a graph's launch has many kernels."""
    return [
        {"cat": "cuda_runtime", "name": "cudaGraphLaunch", "ts": at_us, "dur": 2.0, "args": {"correlation": number}},
        {"cat": "kernel", "name": name, "ts": runs_us, "dur": dur_us, "args": {"correlation": number}},
    ]  # fmt: skip


def trace() -> list[dict[str, Any]]:
    """One prefill, three decode steps; the device runs a whole step behind the host."""
    events = [mark("prefill", 0), *launched("prefill_attention", 1, 500, 1, 900.0)]
    for step, begin in enumerate((1000.0, 2000.0, 3000.0)):
        events.append(mark("decode", begin))
        for layer in range(LAYERS):
            number = 10 + 10 * step + layer
            events += launched("attention", begin + 10, begin + 1100 + 200 * layer, number)
        events += launched("sample", begin + 500, begin + 1600, 19 + 10 * step, 10.0)
    return events


def test_kernels_belong_to_the_step_that_launched_them() -> None:
    found = decode_kernels(trace())
    assert found.steps == 2  # the third has no end
    assert found.kernels == [
        {"name": "attention", "calls": 2.0, "ms_per_step": 0.2},
        {"name": "sample", "calls": 1.0, "ms_per_step": 0.01},
    ]
    assert found.uneven == []


def test_steps_at_the_edges_of_a_batch_are_left_out() -> None:
    """Sequences of one batch begin, and so end, steps apart; a step of fewer has kernels of other shapes."""
    edge = [mark("decode", 500.0, 2), *launched("small_gemm", 510.0, 520.0, 98)]
    full = [{**one, "name": one["name"].replace("decode:1", "decode:4")} for one in trace()]
    found = decode_kernels([*edge, *full])
    assert found.steps == 2
    assert [row["name"] for row in found.kernels] == ["attention", "sample"]
    assert found.uneven == []


def test_a_kernel_without_a_launch_belongs_to_the_step_it_began_in() -> None:
    events = [one for one in trace() if one["cat"] != "cuda_runtime"]
    assert decode_kernels(events).kernels[0]["calls"] == 1.0


def test_a_kernel_that_some_step_lacks_is_uneven() -> None:
    more = launched("rehash", 1100.0, 1200.0, 99)
    assert decode_kernels([*trace(), *more]).uneven == ["rehash"]


def test_a_copy_in_some_steps_leaves_a_profile_whole_and_a_lost_layer_does_not() -> None:
    copy = launched("Memcpy HtoD (Pinned -> Device)", 1100.0, 1200.0, 99, dur_us=1.0)
    whole = decode_kernels([*trace(), *copy])
    assert 0 < whole.uneven_share < MOST_UNEVEN_SHARE
    lost = [one for one in trace() if one.get("args") != {"correlation": 11}]
    assert decode_kernels(lost).uneven == ["attention"]
    assert decode_kernels(lost).uneven_share > MOST_UNEVEN_SHARE


def test_many_kernels_are_summed_up_beyond_the_longest() -> None:
    events = [mark("decode", 0), mark("decode", 1000)]
    for number in range(MOST + 5):
        events += launched(f"k{number}", 10.0, 20.0, number, dur_us=1000.0 - number)
    rows = decode_kernels(events).kernels
    assert len(rows) == MOST + 1
    assert (rows[-1]["name"], rows[-1]["calls"]) == (OTHERS, 5.0)


def test_a_profile_without_decode_steps_has_no_kernels() -> None:
    assert decode_kernels([]) == (0, [], [], 0.0)
    assert decode_kernels(trace()[:3]) == (0, [], [], 0.0)


@pytest.mark.parametrize(
    ("calls", "layers", "covered"), [(32.0, 16, True), (16.5, 16, False), (8.0, 16, False)]
)
def test_calls_are_held_against_the_layers(calls: float, layers: int, covered: bool) -> None:  # noqa: FBT001 - a table's column
    assert covers_layers([{"name": "a", "calls": calls}], layers) is covered

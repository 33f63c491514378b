"""The JSON lines of llama-bench: decodes only, one set-up per arm, rounds by the order of lines."""

import json

import pytest

from abtest.errors import UsageError
from abtest.ledger.foreign import Foreign, read, records
from abtest.model.trial import Pair


def line(**change: object) -> str:
    """One test as the tool writes it; the fields are those of its builds of 2025."""
    fields: dict[str, object] = {
        "build_commit": "8cf427ff", "build_number": 5163, "cpu_info": "some CPU", "gpu_info": "some GPU",
        "backends": "CUDA", "model_filename": "models/m.gguf", "model_type": "qwen2 7B Q4_K - Medium",
        "model_size": 4677120000, "model_n_params": 7615616512, "n_batch": 2048, "n_ubatch": 512,
        "n_threads": 8, "cpu_mask": "0x0", "cpu_strict": False, "poll": 50, "type_k": "f16", "type_v": "f16",
        "n_gpu_layers": 99, "split_mode": "layer", "main_gpu": 0, "no_kv_offload": False, "flash_attn": False,
        "tensor_split": "0.00", "use_mmap": True, "embeddings": False, "n_prompt": 0, "n_gen": 64,
        "n_depth": 512, "test_time": "2026-04-24T11:58:50Z", "avg_ns": 505000000, "stddev_ns": 7000000,
        "avg_ts": 126.7, "stddev_ts": 1.8, "samples_ns": [500000000, 510000000], "samples_ts": [128.0, 125.49],
    }  # fmt: skip
    return json.dumps({**fields, **change}) + "\n"


OTHER = {"build_commit": "1234abcd", "build_number": 5200}


def taken(text: str, arm_by: str | None = None) -> Foreign:
    return read(text, "bench.jsonl", arm_by)


def test_repetitions_are_pairs_without_a_prefill() -> None:
    (record,) = records(taken(line()), "run", "digest")
    assert record.tokens == (0, 64)
    assert record.pairs == (Pair(0.0, 0.5, "long"), Pair(0.0, 0.51, "long"))
    assert (record.arm, record.depth, record.isolation) == ("8cf427ff", 512, "imported")
    assert record.environment["llama-bench.n_threads"] == "8"
    assert record.started_at == "2026-04-24T11:58:50Z"


def test_rounds_and_places_follow_from_the_order_of_lines() -> None:
    found = taken(line() + line(**OTHER) + line(**OTHER) + line())
    assert [(row.round, row.slot, row.cell.arm) for row in found.rows] == [
        (1, 1, "8cf427ff"), (1, 2, "1234abcd"), (2, 1, "1234abcd"), (2, 2, "8cf427ff"),
    ]  # fmt: skip
    assert found.declared["1234abcd"] == {"build_commit": "1234abcd"}


def test_any_field_of_the_set_up_can_make_the_arms() -> None:
    found = taken(line() + line(flash_attn=True), "flash_attn")
    assert found.arms == ("flash_attn-false", "flash_attn-true")
    assert "llama-bench.flash_attn" not in found.rows[0].facts


def test_what_decodes_nothing_is_left_out_counted_and_named() -> None:
    text = line(n_prompt=512, n_gen=0) + line() + line(n_prompt=512) + line(n_prompt=512, n_gen=0)
    found = taken(text)
    assert len(found.rows) == 1
    assert found.left_out == (
        "2 tests of the prompt alone (n_gen 0)",
        "1 tests of prompt and decode in one time (n_prompt above 0)",
    )


@pytest.mark.parametrize(
    ("text", "arm_by", "words"),
    [
        (line(n_gen=0, n_prompt=512), None, "no line timed a decode alone"),
        (line() + "build: 8cf427ff (5163)\n", None, "line 2: not JSON"),
        ("[" + line() + "]", None, "line 1: not JSON"),
        (line() + "[]\n", None, "line 2: not a test of llama-bench: no n_prompt, n_gen, samples_ns"),
        (line() + '{"kind":"trial"}\n', None, "line 2: not a test of llama-bench"),
        (line(samples_ns=[]), None, "line 1: samples_ns is no list of times"),
        (line(samples_ns=[1, "2"]), None, "line 1: samples_ns holds what is no number"),
        (line(samples_ns=[1, -5]), None, "line 1: samples_ns is -5e-09, not a time"),
        (line(samples_ns=[float("nan")]), None, "line 1: samples_ns is nan, not a time"),
        (line(samples_ns=[10**400]), None, "line 1: samples_ns holds a number beyond all times"),
        (line(samples_ns=[1e300]), None, "e+291, not a time"),
        (line(n_gen=10**400), None, "not a whole number from 0 to 999999999"),
        (line(n_depth=10**9), None, "n_depth is 1000000000, not a whole number from 0 to 999999999"),
        ("[" * 100_000, None, "line 1: not JSON"),
        (line(cpu_info="\ud800"), None, "line 1: not JSON"),
        (line(n_gen="64"), None, "line 1: n_gen is '64'"),
        (line() + line(n_gen=128), None, "line 2: 128 tokens, but line 1 has 64"),
        (line() + line(n_threads=4), None, "line 2: arm 8cf427ff has another n_threads than in line 1"),
        (line(), "colour", "line 1: 'colour' is no field of the set-up"),
        (line(), "n_gen", "line 1: 'n_gen' is no field of the set-up"),
        (line(), "model_type", "line 1: 'model_type-qwen2-7b-q4_k---medium' cannot name an arm"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_as_it_is_is_refused(
    text: str, arm_by: str | None, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        taken(text, arm_by)
    assert words in caught.value.what
    assert caught.value.remedy

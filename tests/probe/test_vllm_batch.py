"""The vLLM adapter and batches: how many tokens a step may take, and which steps the prompts take."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from abtest.probe.engines import vllm_config
from abtest.probe.request import EngineRequest

Trial = Callable[..., SimpleNamespace]


@pytest.mark.parametrize(
    ("given", "batch", "found"), [(150, 1, 96), (150, 2, 150), (500, 2, 192), (287, 3, 285)]
)
def test_a_step_is_never_given_more_tokens_than_all_requests_can_hold(
    vllm_trial: Trial, given: int, batch: int, found: int
) -> None:
    report = vllm_trial(args={"max_num_batched_tokens": given}, batch=batch, pairs=1).answer
    assert report["error"] is None
    told = {(one["component"], one["fact"]): one["value"] for one in report["log"]}
    assert told["engine", "max_num_batched_tokens"] == str(found)


@pytest.mark.parametrize("given", [{"max_num_batched_tokens": None}, {"max_model_len": -1}])
def test_a_limit_that_the_engine_resolves_is_left_to_it(given: dict[str, Any]) -> None:
    args = {"model": "m", "load_format": "dummy", "max_num_batched_tokens": 500, **given}
    engine = EngineRequest("vllm", 1, args)
    asked = SimpleNamespace(engine=engine, depth=32, most_tokens=64, batch=1)
    made = vllm_config.arguments(cast("Any", asked), "a.Class", [])
    assert made["max_num_batched_tokens"] == args["max_num_batched_tokens"]


def test_a_batch_whose_prefills_reach_into_the_decodes_is_refused(vllm_trial: Trial) -> None:
    error = vllm_trial("small-budget", batch=16, depth=64).answer["error"]
    assert (error["kind"], error["name"]) == ("invalid", "prefill-in-decode")


def test_a_batch_whose_prefills_end_early_counts_only_the_steps_of_all(vllm_trial: Trial) -> None:
    report = vllm_trial("small-budget", batch=4, depth=64, pairs=1).answer
    assert report["error"] is None
    assert len(report["token_s_per_token"]) == 1
    assert {route["phase"] for route in report["routes"]} == {"prefill", "mixed", "decode"}
    assert len({tuple(ids) for ids in report["outputs"]["ids"]}) == 4


def test_a_batch_is_held_until_all_of_it_is_there(vllm_trial: Trial) -> None:
    report = vllm_trial("trickles", batch=3).answer
    assert report["error"] is None
    assert report["flags"] == ["dummy-weights"]


def test_a_batch_that_an_older_engine_begins_by_parts_is_flagged(vllm_trial: Trial) -> None:
    flags = vllm_trial("trickles-old", batch=3).answer["flags"]
    assert "prefill-uneven: first tokens by step: 1+2 or 3" in flags
    assert "prefill-uneven: this engine cannot be held until a batch is complete" in flags


def test_an_engine_in_this_process_needs_no_hold(vllm_trial: Trial) -> None:
    report = vllm_trial(batch=3, env={"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}).answer
    assert (report["error"], report["flags"]) == (None, ["dummy-weights"])


def test_b8_a_batch_above_the_captured_sizes_is_flagged(vllm_trial: Trial) -> None:
    assert "eager-decode" in vllm_trial("graphs", batch=3).answer["flags"]

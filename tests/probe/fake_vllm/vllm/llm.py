"""The front end: requests in, steps out."""

import os
import time
from types import SimpleNamespace
from typing import Any

from vllm.executor import Executor

PREFILL_TOKENS = 64  # budget of one step


class LLM:
    def __init__(self, **arguments: Any) -> None:
        fault = arguments.pop("fault", "")
        _fail_at_start(fault)
        most = arguments["max_num_seqs"] * arguments["max_model_len"]
        if arguments.get("max_num_batched_tokens", 0) > most:  # as vLLM 0.26.0 on a GPU
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        print(
            "INFO [selector.py:1] Using CPU_ATTN attention backend out of potential backends: []."
        )
        print("INFO [kv.py:1] GPU KV cache size: 1,024 tokens", flush=True)
        self.llm_engine = _Engine(arguments, fault)

    def collective_rpc(self, name: str, timeout: float, args: tuple = ()) -> list[Any]:
        return self.llm_engine.executor.call(name, args, timeout)


def _fail_at_start(fault: str) -> None:
    if fault == "init-fails":
        logged = "(EngineCore pid=62) ERROR 11-30 15:06:56 [core.py:1330]"
        print(f"{logged} Traceback (most recent call last):")
        print(f"{logged} torch.AcceleratorError: CUDA error: an illegal memory access", flush=True)
        print("(EngineCore pid=62) RuntimeError: what followed from it", flush=True)
        raise RuntimeError("Engine core initialization failed. See root cause above.")
    if fault == "killed-in-init":
        os.kill(os.getpid(), 9)
    if fault == "hangs-in-init":
        time.sleep(600)


class _Engine:
    def __init__(self, arguments: dict[str, Any], fault: str) -> None:
        self.fault, self.arguments = fault, arguments
        self.executor = Executor(arguments, fault)
        self.engine_core = SimpleNamespace(shutdown=self.executor.close)
        if os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING") != "0":
            self.engine_core.call_utility = self._call_utility
        self.held, self.alone = False, ""
        self.model_config = SimpleNamespace(
            skip_tokenizer_init=arguments.get("skip_tokenizer_init", False),
            get_vocab_size=lambda: 512,
        )
        self.vllm_config = _config(arguments, fault)
        self.requests: dict[str, SimpleNamespace] = {}
        self.generations = 0

    def _call_utility(self, method: str, *args: object) -> None:
        known = {"pause_scheduler": ("keep", False), "resume_scheduler": ()}
        if self.fault == "trickles-old" or known.get(method) != args:
            raise RuntimeError(f"Call to {method} method failed: no such method")
        self.held = method == "pause_scheduler"

    def add_request(self, name: str, prompt: dict[str, list[int]], params: Any) -> None:
        assert params.ignore_eos
        assert params.temperature == 0
        if not self.requests:
            self.generations += 1
            if self.fault.startswith("trickles") and not self.held and self.generations % 2:
                self.alone = name  # the engine's process has begun before the next one is there
        wanted = params.max_tokens
        if self.fault == "one-token":
            wanted = 1
        ids = prompt["prompt_token_ids"]
        left = len(ids)
        if (self.fault == "cached" and self.generations > 1) or self.arguments[
            "enable_prefix_caching"
        ]:
            left = 16 if self.generations > 1 else left
        self.requests[name] = SimpleNamespace(
            name=name, prompt=ids, left=left, cached=len(ids) - left, made=0, wanted=wanted
        )

    def has_unfinished_requests(self) -> bool:
        return bool(self.requests)

    def step(self) -> list[SimpleNamespace]:
        """Chunked prefill within a budget, together with the decodes of those that are done with theirs."""
        if self.fault == "hangs" and self.generations > 1:
            time.sleep(600)
        budget = PREFILL_TOKENS if "small-budget" in self.fault else 1 << 20
        scheduled: dict[str, int] = {}
        assert not self.held
        ready = [one for one in self.requests.values() if self.alone in ("", one.name)]
        self.alone = ""
        for one in ready:
            scheduled[one.name] = 1 if not one.left else min(one.left, budget)
            budget -= scheduled[one.name] if one.left else 0
        scheduled = {name: count for name, count in scheduled.items() if count > 0}
        ids = self.executor.execute(scheduled, self.requests)
        return [
            out
            for name in scheduled
            if (out := self._advance(name, scheduled[name], ids)) is not None
        ]

    def _advance(self, name: str, count: int, ids: dict[str, int]) -> SimpleNamespace | None:
        one = self.requests[name]
        one.left -= count if one.left else 0
        if one.left:
            return None
        if self.fault == "jit" and self.generations > 2 and one.made == 1:
            print(
                "WARNING [jit_monitor.py:9] Triton JIT compilation during inference: decode. This",
                flush=True,
            )
        several = 2 if self.fault == "speculates" and one.made else 1
        fresh = [ids[name]] * min(several, one.wanted - one.made)
        one.made += len(fresh)
        if one.made == one.wanted:
            del self.requests[name]
        grown = one.prompt + [1] * (self.fault == "prompt-grows")
        return SimpleNamespace(
            request_id=name,
            prompt_token_ids=grown,
            num_cached_tokens=None if self.fault == "cache-untold" else one.cached,
            outputs=[SimpleNamespace(token_ids=fresh)],
        )


def _config(arguments: dict[str, Any], fault: str) -> SimpleNamespace:
    sizes = [1, 2] if fault == "graphs" else []
    draft = arguments.get("speculative_config")
    return SimpleNamespace(
        compilation_config=SimpleNamespace(
            cudagraph_mode=SimpleNamespace(name="FULL" if sizes else "NONE"),
            cudagraph_capture_sizes=sizes,
        ),
        model_config=SimpleNamespace(max_model_len=arguments["max_model_len"]),
        # without chunks of its own choice vLLM fits this to the model's length, and so to the depth
        scheduler_config=SimpleNamespace(
            max_num_batched_tokens=arguments.get(
                "max_num_batched_tokens", arguments["max_model_len"]
            )
        ),
        speculative_config=SimpleNamespace(model=None, **draft) if draft else None,
    )

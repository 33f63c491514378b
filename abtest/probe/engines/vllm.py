"""vLLM, offline: `LLM(**args)`, prompts as token ids, one engine step at a time."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Callable

from abtest.probe import prompts
from abtest.probe.engines import vllm_config
from abtest.probe.engines.stepping import Steps

if TYPE_CHECKING:
    from abtest.probe.engines import Generation
    from abtest.probe.request import Request

TESTED = {"cpu": ("0.27.1",), "cuda": ("0.26.0",)}  # versions by vLLM's name of the platform
EXTENSION = "abtest.probe.engines.vllm_worker.Extension"
UNHELD = "prefill-uneven: this engine cannot be held until a batch is complete"
ANSWER_S = (
    300.0  # a worker that says nothing for this long is silent; writing out a profile takes a while
)


class Adapter:
    """Drives `vllm.LLM` for one depth and one batch."""

    phase_function = "abtest.probe.engines.vllm_worker:current_phase"
    profiles = True

    def __init__(self, request: Request) -> None:
        # nothing of a trial may call out: neither usage statistics nor updates of anything
        for name in ("VLLM_NO_USAGE_STATS", "DO_NOT_TRACK"):
            os.environ.setdefault(name, "1")
        os.environ.update(vllm_config.sockets(os.environ, tempfile.gettempdir()))
        self.prefix_cache = bool(request.engine.args.get("enable_prefix_caching"))
        self.flags: list[str] = []
        self._request = request
        self._arguments = vllm_config.arguments(request, EXTENSION, sys.path)
        self._vllm: Any = importlib.import_module("vllm")
        self.version = str(getattr(self._vllm, "__version__", "unknown"))
        self._note_set_up()
        self._llm: Any = None
        self._calls = 0

    def _note_set_up(self) -> None:
        platform = _platform()
        if self.version.partition("+")[0] not in TESTED.get(platform, ()):
            tested = ", ".join(
                f"{one} on {name}" for name, all_of in TESTED.items() for one in all_of
            )
            print(
                f"abtest: vLLM {self.version} on {platform} was never tested with this probe; tested: {tested}"
            )
            self.flags.append("engine-untested")
        if self._arguments.get("load_format") == "dummy":
            self.flags.append("dummy-weights")
        if self._arguments.get("speculative_config"):
            self.flags.append("speculation")

    def start(self) -> None:
        self._llm = self._vllm.LLM(**self._arguments)

    def prompts(self) -> list[list[int]]:
        """Fixed prose where there is a tokenizer, else ids drawn evenly from the vocabulary."""
        asked, model = self._request, self._llm.llm_engine.model_config
        encode = None if getattr(model, "skip_tokenizer_init", False) else self._encoder()
        if encode is None:
            size = int(model.get_vocab_size())
            return [
                prompts.from_vocabulary(size, asked.depth, place) for place in range(asked.batch)
            ]
        return [prompts.from_text(encode, asked.depth, place) for place in range(asked.batch)]

    def _encoder(self) -> Any:  # noqa: ANN401 - a function of the engine's tokenizer
        tokenizer = self._llm.get_tokenizer()
        return lambda text: list(tokenizer.encode(text, add_special_tokens=False))

    def generate(self, prompts: list[list[int]], count: int) -> Generation:
        """Step the engine until every request is done; each step's return is stamped."""
        engine = self._llm.llm_engine
        self._calls += 1
        names = [f"abtest-{self._calls}-{place}" for place in range(len(prompts))]
        steps = Steps(names)
        held = self._hold(engine.engine_core, len(prompts))
        for name, prompt in zip(names, prompts):
            engine.add_request(name, {"prompt_token_ids": prompt}, self._sampling(count))
        if held:
            engine.engine_core.call_utility("resume_scheduler")
        while engine.has_unfinished_requests():
            steps.take(engine.step(), time.perf_counter())
        return steps.generation()

    def _hold(self, core: Any, count: int) -> bool:  # noqa: ANN401 - vLLM's client of its engine
        """Keep the engine from beginning with a batch before all of it is there; tells whether it must be resumed.

        An engine in a process of its own begins with whichever requests have arrived, so that the prompts of one
        batch would take other steps by chance. The two or three milliseconds of this are in both times of a pair.
        """
        ask: Callable[..., object] | None = getattr(core, "call_utility", None)
        if count == 1 or ask is None:  # an engine in this process has none, and waits for `step`
            return False
        try:
            ask("pause_scheduler", "keep", False)  # noqa: FBT003 - only positions go over: no cache is cleared
        except Exception as error:  # noqa: BLE001 - of whatever class this version of the client raises
            if UNHELD not in self.flags:
                print(f"abtest: a batch cannot be held: {type(error).__name__}: {error}")
                self.flags.append(UNHELD)
            return False
        return True

    def _sampling(self, count: int) -> Any:  # noqa: ANN401 - an object of the engine's
        sampling = importlib.import_module("vllm.sampling_params")
        return sampling.SamplingParams(
            temperature=0.0,
            max_tokens=count,
            ignore_eos=True,
            detokenize=False,
            output_kind=sampling.RequestOutputKind.DELTA,
        )

    def call_workers(self, name: str, *args: object) -> list[Any]:
        return list(self._llm.collective_rpc("abtest_call", timeout=ANSWER_S, args=(name, *args)))

    def worker_pids(self) -> list[int]:
        """Ask every worker for its rank and process id.

        Raises:
            RuntimeError: two workers claim one rank, or one is missing.
        """
        answers = self._llm.collective_rpc("abtest_place", timeout=ANSWER_S)
        pids = {int(rank): int(pid) for rank, pid in answers}
        wanted = self._request.engine.tensor_parallel
        if sorted(pids) != list(range(wanted)) or len(set(pids.values())) != wanted:
            raise RuntimeError(
                f"{wanted} workers were asked for, these answered as (rank, pid): {answers}"
            )
        return [pids[rank] for rank in range(wanted)]

    def facts(self) -> dict[str, str]:
        return vllm_config.facts(self._llm.llm_engine.vllm_config, vllm_config.OBSERVED)

    def condition_facts(self) -> dict[str, str]:
        return vllm_config.facts(self._llm.llm_engine.vllm_config, vllm_config.CONDITIONAL)

    def requested(self) -> dict[str, str]:
        return vllm_config.requested(self._arguments, os.environ)

    def close(self) -> None:
        if self._llm is None:
            return
        core = getattr(self._llm.llm_engine, "engine_core", None)
        self._llm = None
        if core is not None:
            core.shutdown()


def _platform() -> str:
    """Name what the installed vLLM runs on: `cpu`, `cuda`, `rocm`."""
    platform: Any = importlib.import_module("vllm.platforms").current_platform
    return str(platform.device_name)

"""The reference engine: a small NumPy decoder whose workers are real processes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from abtest.probe.engines import Generation

if TYPE_CHECKING:
    from abtest.probe.request import Request


def current_phase() -> str:
    """Tell the phase of the step that runs in this worker now."""
    from refengine import context

    return str(context.current().phase)


class Adapter:
    """Drives `refengine.Engine`; it has no prefix cache, and ignores EOS unless told otherwise."""

    phase_function = "abtest.probe.engines.reference:current_phase"
    prefix_cache = False
    profiles = False

    def __init__(self, request: Request) -> None:
        self.flags: list[str] = []
        self._package: Any = importlib.import_module("refengine")
        self.version = str(getattr(self._package, "__version__", "unknown"))
        self._request = request
        self._engine: Any = None

    def start(self) -> None:
        asked = self._request
        own = {
            "tensor_parallel": asked.engine.tensor_parallel,
            "max_context": asked.depth + asked.most_tokens,
            "max_batch": asked.batch,
        }
        self._engine = self._package.Engine(
            self._package.EngineConfig(**{**own, **asked.engine.args})
        )

    def prompts(self) -> list[list[int]]:
        return [
            self._package.default_prompt(self._request.depth, index)
            for index in range(self._request.batch)
        ]

    def generate(self, prompts: list[list[int]], count: int) -> Generation:
        made = self._engine.generate(prompts, count)
        return Generation(
            [list(ids) for ids in made.token_ids],
            list(made.prompt_tokens),
            list(made.token_times_s),
            list(made.cached_tokens),
        )

    def call_workers(self, name: str, *args: object) -> list[Any]:
        try:
            return list(self._engine.collective_rpc(f"abtest.probe.worker:{name}", *args))
        except self._package.EngineError as error:
            if "is silent" in str(error):
                raise TimeoutError(str(error)) from error
            raise

    def worker_pids(self) -> list[int]:
        return list(self._engine.worker_pids())

    def facts(self) -> dict[str, str]:
        return {}

    def condition_facts(self) -> dict[str, str]:
        return {}

    def requested(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

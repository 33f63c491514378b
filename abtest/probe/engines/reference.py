"""The reference engine: a small NumPy decoder whose workers are real processes."""

from __future__ import annotations

from typing import Any

import refengine

from abtest.probe.engines import Generation


def current_phase() -> str:
    """Tell the phase of the step that runs in this worker now."""
    from refengine import context

    return str(context.current().phase)


class Adapter:
    """Drives `refengine.Engine`."""

    phase_function = "abtest.probe.engines.reference:current_phase"

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self._engine: Any = None
        self.version = str(getattr(refengine, "__version__", "unknown"))

    def start(self) -> None:
        request = self._request
        config = refengine.EngineConfig(
            tensor_parallel=request["engine"]["tensor_parallel"],
            max_context=request["depth"] + request["tokens"][1] + 1,
            max_batch=request["batch"],
            **request["engine"]["args"],
        )
        self._engine = refengine.Engine(config)

    def prompts(self) -> list[list[int]]:
        return [
            refengine.default_prompt(self._request["depth"], index)
            for index in range(self._request["batch"])
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
        return list(self._engine.collective_rpc(f"abtest.probe.worker:{name}", *args))

    def worker_pids(self) -> list[int]:
        return list(self._engine.worker_pids())

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()

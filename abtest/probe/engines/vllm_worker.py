"""What vLLM's workers run for the probe: a class that vLLM mixes into its own worker class."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable

from abtest.probe import worker as probe_worker

DRAFTS = ("draft", "eagle", "mtp", "medusa")
VISION = ("vision", "visual", "vit", "image")


class _Step:
    """The running step of this process, and the worker that runs it."""

    phase = "idle"
    watched = False
    worker: Any = None


def current_phase() -> str:
    """Tell the phase of the step that runs in this worker now."""
    return _Step.phase


class Extension:
    """Methods that vLLM adds to its worker; called by name through `collective_rpc`."""

    def abtest_place(self) -> tuple[int, int]:
        """Give this worker's rank and process id."""
        return int(getattr(self, "rank", 0)), os.getpid()

    def abtest_call(self, name: str, *args: object) -> Any:  # noqa: ANN401 - what the function returns
        """Run a function of `abtest.probe.worker` here."""
        _Step.worker = self
        if not _Step.watched:
            _watch_steps(self)
        return getattr(probe_worker, name)(*args)


def _watch_steps(worker: Any) -> None:  # noqa: ANN401 - vLLM's worker, of a class of its own per platform
    """Note the phase of each step, at the one place that knows what was scheduled."""
    runner = worker.model_runner
    execute: Callable[..., Any] = runner.execute_model

    def noted(scheduled: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - stands in for vLLM's method
        if not probe_worker.watching():
            return execute(scheduled, *args, **kwargs)
        _Step.phase = phase_of(scheduled)
        with probe_worker.step_range(_Step.phase, len(scheduled.num_scheduled_tokens)):
            return execute(scheduled, *args, **kwargs)

    runner.execute_model = noted
    _Step.watched = True


def phase_of(scheduled: Any) -> str:  # noqa: ANN401 - vLLM's SchedulerOutput
    """Tell what a step does: `prefill`, `decode`, or `mixed`; `idle` for a step without tokens.

    A request decodes if it is not new, has produced a token already, and gets one token (plus its drafts) now.
    """
    tokens = scheduled.num_scheduled_tokens
    if not tokens:
        return "idle"
    drafts = getattr(scheduled, "scheduled_spec_decode_tokens", None) or {}
    new = {request.req_id for request in scheduled.scheduled_new_reqs}
    cached = scheduled.scheduled_cached_reqs
    produced = dict(zip(cached.req_ids, getattr(cached, "num_output_tokens", None) or ()))
    decoding = [
        name
        for name, count in tokens.items()
        if name not in new and count == 1 + len(drafts.get(name, ())) and produced.get(name, 1) > 0
    ]
    if len(decoding) == len(tokens):
        return "decode"
    return "mixed" if decoding else "prefill"


def facts() -> dict[str, str]:
    """Tell which attention backend each component of the model got in this rank, and which kernels of quantisation."""
    config = getattr(_Step.worker, "vllm_config", None)
    context = getattr(getattr(config, "compilation_config", None), "static_forward_context", None)
    found: dict[str, set[str]] = {}
    layers: dict[str, int] = {}
    for name, layer in dict(context or {}).items():
        backend = getattr(layer, "attn_backend", None) or getattr(layer, "backend", None)
        part = component(name)
        if backend is not None:
            found.setdefault(f"backend.{part}", set()).add(_backend_name(backend))
            layers[part] = layers.get(part, 0) + 1
    for kind in sorted(_linear_kinds()):
        found.setdefault("quantisation.decoder", set()).add(kind)
    made = {key: "+".join(sorted(values)) for key, values in found.items()}
    return {**made, **{f"layers.{part}": str(count) for part, count in layers.items()}}


def component(layer: str) -> str:
    """Name the part of the model that a layer belongs to.

    >>> component("model.layers.3.self_attn.attn"), component("visual.blocks.1.attn"), component("mtp.layers.0.attn")
    ('decoder', 'vision', 'draft')
    """
    lower = layer.lower()
    if any(word in lower for word in DRAFTS):
        return "draft"
    return "vision" if any(word in lower for word in VISION) else "decoder"


def _backend_name(backend: Any) -> str:  # noqa: ANN401 - a class or a member of an enumeration
    """Name a backend as an experiment asks for it; some classes call themselves by the name of another."""
    registry = sys.modules.get("vllm.v1.attention.backends.registry")
    place = f"{getattr(backend, '__module__', '')}.{getattr(backend, '__qualname__', '')}"
    for member in getattr(registry, "AttentionBackendEnum", ()):
        if member.value == place:
            return str(member.name)
    get_name = getattr(backend, "get_name", None)
    return str(get_name() if callable(get_name) else getattr(backend, "name", backend))


def _linear_kinds() -> set[str]:
    """Name the classes that really multiply: one word of a configuration may hide several."""
    runner: Any = getattr(_Step.worker, "model_runner", None)
    model: Any = (
        runner.get_model() if hasattr(runner, "get_model") else getattr(runner, "model", None)
    )
    kinds: set[str] = set()
    for module in model.modules() if hasattr(model, "modules") else ():
        method = getattr(module, "quant_method", None)
        if method is None:
            continue
        scheme = getattr(module, "scheme", None) or method
        kernel = getattr(scheme, "kernel", None)
        kinds.add(type(kernel).__name__ if kernel is not None else type(scheme).__name__)
    return kinds

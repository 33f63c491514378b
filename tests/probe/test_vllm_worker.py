"""What vLLM's workers say for the probe: the phase of a step, and which classes do the work."""

import sys
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from abtest.probe.engines import vllm_worker


def scheduled(tokens: dict[str, int], new: tuple[str, ...] = (), **more: Any) -> SimpleNamespace:
    cached = {name: more.get("produced", {}).get(name, 1) for name in tokens if name not in new}
    return SimpleNamespace(
        num_scheduled_tokens=tokens,
        scheduled_spec_decode_tokens=more.get("drafts", {}),
        scheduled_new_reqs=[SimpleNamespace(req_id=name) for name in new],
        scheduled_cached_reqs=SimpleNamespace(
            req_ids=list(cached), num_output_tokens=list(cached.values())
        ),
    )


@pytest.mark.parametrize(
    ("step", "phase"),
    [
        (scheduled({}), "idle"),
        (scheduled({"a": 512}, new=("a",)), "prefill"),
        (scheduled({"a": 1}, new=("a",)), "prefill"),
        (scheduled({"a": 1}, produced={"a": 0}), "prefill"),
        (scheduled({"a": 1, "b": 1}), "decode"),
        (scheduled({"a": 3}, drafts={"a": [7, 8]}), "decode"),
        (scheduled({"a": 1, "b": 64}, new=("b",)), "mixed"),
    ],
)
def test_the_phase_is_told_from_what_was_scheduled(step: SimpleNamespace, phase: str) -> None:
    assert vllm_worker.phase_of(step) == phase


class Aiter:
    @staticmethod
    def get_name() -> str:
        return "FLASH_ATTN"  # as a real backend does, which is another one


def test_b3_b10_each_component_and_each_kernel_class_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = f"{Aiter.__module__}.{Aiter.__qualname__}"
    registry = ModuleType("vllm.v1.attention.backends.registry")
    registry.__dict__["AttentionBackendEnum"] = Enum("Backends", {"ROCM_AITER_FA": place})
    monkeypatch.setitem(sys.modules, registry.__name__, registry)
    plain = SimpleNamespace(get_name=lambda: "TRITON_ATTN")
    layers = {
        "model.layers.0.self_attn.attn": SimpleNamespace(attn_backend=Aiter),
        "model.layers.1.self_attn.attn": SimpleNamespace(attn_backend=Aiter),
        "mtp.layers.0.attn": SimpleNamespace(attn_backend=plain),
    }
    Marlin, Machete = (type(name, (), {}) for name in ("Marlin", "Machete"))  # noqa: N806 - classes
    scheme = type("WNA16", (), {})
    modules = []
    for kernel in (Marlin(), Machete()):
        made = scheme()
        made.kernel = kernel
        modules.append(SimpleNamespace(quant_method=object(), scheme=made))
    worker = SimpleNamespace(
        vllm_config=SimpleNamespace(
            compilation_config=SimpleNamespace(static_forward_context=layers)
        ),
        model_runner=SimpleNamespace(get_model=lambda: SimpleNamespace(modules=lambda: modules)),
    )
    monkeypatch.setattr(vllm_worker._Step, "worker", worker)  # noqa: SLF001 - the process's own state
    assert vllm_worker.facts() == {
        "backend.decoder": "ROCM_AITER_FA",
        "backend.draft": "TRITON_ATTN",
        "layers.decoder": "2",
        "layers.draft": "1",
        "quantisation.decoder": "Machete+Marlin",
    }

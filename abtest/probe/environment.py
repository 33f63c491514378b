"""Facts about the sandbox that must be equal between arms, but for what they declare."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abtest.probe.request import Request

SKIPPED = {
    "ABTEST_REQUEST",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "HOSTNAME",
}  # differ between trials by nature
KERNELS = re.compile(
    r"(torch|triton|pytorch_triton.*|vllm.*|sglang|flash_attn.*|flashinfer.*|xformers|aiter|amd_aiter|numpy|transformers"
    r"|nvidia_(nccl|cublas|cudnn|cuda_runtime).*)$"
)
MODEL_KEYS = (
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "hidden_size",
    "dtype",
    "torch_dtype",
    "layer_types",
    "layers_block_type",
    "full_attention_interval",
    "kv_lora_rank",
    "qk_rope_head_dim",
)
PROBE_SITE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def facts(request: Request) -> dict[str, str]:
    """Collect them, flat, before the engine has had a chance to change any.

    Folders that differ between trials by nature are replaced by their meaning.
    """
    system = os.uname()
    found = {
        "python": sys.version,
        "platform.machine": system.machine,
        "platform.release": system.release,
        "cpu_count": str(len(os.sched_getaffinity(0))),
        "distributions": distributions_sha256(),
        "argv": json.dumps(getattr(sys, "orig_argv", [sys.executable, *sys.argv])),
        "engine.kind": request.engine.kind,
        "engine.args": json.dumps(request.engine.args, sort_keys=True),
        "engine.tensor_parallel": str(request.engine.tensor_parallel),
    }
    named = libraries()
    if named:
        found["libraries"] = named
    config = model_config(request.engine.args)
    if config is not None:
        found["model.config"] = config
    for name, value in os.environ.items():
        if name not in SKIPPED and name not in request.hide_env:
            found[f"env.{name}"] = _without_site(value) if name == "PYTHONPATH" else value
    folders = _folders(request.out)
    return {name: _normalised(value, folders) for name, value in found.items()}


def model_config(args: dict[str, Any]) -> str | None:
    """Give what of the model's own configuration decides the size of its KV cache; None where there is none.

    Only a model in a folder can be read; lists of layers are counted, to keep the fact short.
    """
    model = args.get("model")
    if not isinstance(model, str):
        return None
    try:
        with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
            body = json.load(file)
    except (OSError, ValueError):
        return None
    if not isinstance(body, dict):
        return None
    inner = body.get("text_config")
    said = dict(body, **inner) if isinstance(inner, dict) else body
    found = {name: said[name] for name in MODEL_KEYS if said.get(name) is not None}
    for name in ("layer_types", "layers_block_type"):
        if isinstance(found.get(name), list):
            kinds = [str(kind) for kind in found[name]]
            found[name] = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    return json.dumps(found, sort_keys=True)


def libraries() -> str:
    """Name the versions of the libraries that kernels come from, where they are installed."""
    pairs = (name.rsplit(".", 1)[0].partition("-") for name in distributions())
    return ", ".join(
        sorted(f"{name} {version}" for name, _, version in pairs if KERNELS.match(name.lower()))
    )


def distributions_sha256() -> str:
    """Hash the installed distributions' names and versions."""
    return hashlib.sha256("\n".join(sorted(distributions())).encode()).hexdigest()


def distributions() -> set[str]:
    """List the installed distributions, by the names of their folders."""
    found: set[str] = set()
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        found.update(name for name in names if name.endswith((".dist-info", ".egg-info")))
    return found


def _without_site(value: str) -> str:
    kept = [
        part for part in value.split(os.pathsep) if not part or os.path.abspath(part) != PROBE_SITE
    ]
    return os.pathsep.join(kept)


def _folders(out: str) -> list[tuple[str, str]]:
    """Longest first: a temporary folder may lie inside the home folder."""
    named = [
        (out, "<out>"),
        (os.environ.get("ABTEST_SANDBOX", ""), "<sandbox>"),
        (os.environ.get("TMPDIR", ""), "<tmp>"),
        (os.environ.get("HOME", ""), "<home>"),
    ]
    return sorted(
        ((path, word) for path, word in named if len(path) > 1), key=lambda one: -len(one[0])
    )


def _normalised(value: str, folders: list[tuple[str, str]]) -> str:
    for path, word in folders:
        value = value.replace(path, word)
    return value

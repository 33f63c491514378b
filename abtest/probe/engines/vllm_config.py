"""What vLLM is started with, what was asked of it, and what it made of that; imports nothing of vLLM."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping

if TYPE_CHECKING:
    from abtest.probe.request import Request

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
OWN = ("worker_extension_cls", "tensor_parallel_size")
SINGLE = ("pipeline_parallel_size", "data_parallel_size", "prefill_context_parallel_size")
OBSERVED = {  # fact -> (section, attribute) of the engine's resolved configuration
    "dtype": ("model_config", "dtype"),
    "quantization": ("model_config", "quantization"),
    "enforce_eager": ("model_config", "enforce_eager"),
    "kv_cache_dtype": ("cache_config", "cache_dtype"),
    "block_size": ("cache_config", "block_size"),
    "prefix_caching": ("cache_config", "enable_prefix_caching"),
    "chunked_prefill": ("scheduler_config", "enable_chunked_prefill"),
    "async_scheduling": ("scheduler_config", "async_scheduling"),
    "compilation": ("compilation_config", "mode"),
    "graph_mode": ("compilation_config", "cudagraph_mode"),
    "executor": ("parallel_config", "distributed_executor_backend"),
}
CONDITIONAL = {  # the same, for what follows from the depth or the batch
    "max_model_len": ("model_config", "max_model_len"),
    "max_num_batched_tokens": ("scheduler_config", "max_num_batched_tokens"),
    "max_num_seqs": ("scheduler_config", "max_num_seqs"),
    "graph_sizes": ("compilation_config", "cudagraph_capture_sizes"),
}
SOCKETS = "VLLM_RPC_BASE_PATH"
LONGEST_SOCKET_FOLDER = (
    107 - len("/") - 36
)  # what the kernel allows for a path, less a UUID as the name
SPECULATION = ("method", "model", "num_speculative_tokens")


def arguments(request: Request, extension: str, folders: Iterable[str]) -> dict[str, Any]:
    """Complete the experiment's arguments for `LLM`; what the experiment says wins, where it may.

    Args:
        extension: qualified name of the class that answers in the workers.
        folders: where a relative model folder is looked for.

    Raises:
        ValueError: no model, an argument that the probe sets itself, or more kinds of parallelism than tensor.
    """
    given = dict(request.engine.args)
    if not given.get("model"):
        raise ValueError("engine.args.model is missing: name a hub model or a model folder")
    for name in OWN:
        if name in given:
            raise ValueError(
                f"engine.args.{name} is set by the probe: use engine.tensor_parallel and leave it out"
            )
    for name in SINGLE:
        if given.get(name, 1) != 1:
            raise ValueError(
                f"engine.args.{name} is not supported: every rank must be a tensor rank"
            )
    folder = model_folder(str(given["model"]), folders)
    if folder is not None:
        given["model"] = folder
        _check_weights(folder, given)
        if not _has(folder, _is_tokenizer):
            given.setdefault("skip_tokenizer_init", True)
    complete = {
        "max_model_len": request.depth + request.most_tokens,
        "max_num_seqs": request.batch,
        "enable_prefix_caching": False,
        "seed": 0,
        **given,
        "tensor_parallel_size": request.engine.tensor_parallel,
        "worker_extension_cls": extension,
    }
    return {**complete, **_step_limit(complete)}


def _step_limit(arguments: Mapping[str, Any]) -> dict[str, int]:
    """Cut the tokens of a step, where they are given, to what all requests can hold together.

    vLLM fills a step of its warm-up with as many tokens as it is allowed, in as many requests as it is allowed: a
    limit beyond this makes sequences longer than the model's length there, and reads memory that is nobody's. One
    limit that suits every depth and batch of an experiment does not exist.
    """
    names = ("max_num_batched_tokens", "max_num_seqs", "max_model_len")
    counts = [one for name in names if isinstance(one := arguments.get(name), int) and one > 0]
    if len(counts) < len(names):
        return {}  # not given, or the engine's to resolve
    given, requests, longest = counts
    most = min(given, requests * longest)
    rest = most % requests  # goes to one request, on top of its share
    return {names[0]: most if most // requests + rest <= longest else most - rest}


def model_folder(name: str, folders: Iterable[str]) -> str | None:
    """Find a model folder by an absolute path, or below one of `folders`; None stands for a name of a hub."""
    places = [name] if os.path.isabs(name) else [os.path.join(one, name) for one in folders if one]
    for place in places:
        if os.path.isfile(os.path.join(place, "config.json")):
            return place
    return None


def _check_weights(folder: str, given: Mapping[str, Any]) -> None:
    if given.get("load_format") != "dummy" and not _has(folder, lambda one: one.endswith(WEIGHTS)):
        raise ValueError(f"{folder} holds no weights: add `load_format: dummy` to engine.args")


def _has(folder: str, wanted: Any) -> bool:  # noqa: ANN401 - a predicate on file names
    return any(wanted(name) for name in os.listdir(folder))


def _is_tokenizer(name: str) -> bool:
    return name.startswith(("tokenizer", "tekken", "vocab")) or name.endswith(".tiktoken")


def sockets(environment: Mapping[str, str], temporary: str) -> dict[str, str]:
    """Choose where the engine's processes meet, if the temporary folder's path is too long for sockets.

    All of them keep the working folder that the probe was started in: a fresh one of this trial's own.

    >>> sockets({}, "/tmp"), sockets({}, "/results/" + 80 * "x")
    ({}, {'VLLM_RPC_BASE_PATH': '.'})
    """
    if SOCKETS in environment or len(os.fsencode(temporary)) <= LONGEST_SOCKET_FOLDER:
        return {}
    return {SOCKETS: "."}


def facts(config: Any, wanted: Mapping[str, tuple[str, str]]) -> dict[str, str]:  # noqa: ANN401 - the engine's own type
    """Read the resolved configuration, flat; what this version does not have is `absent`.

    Args:
        wanted: fact -> (section, attribute); `OBSERVED` or `CONDITIONAL`.
    """
    found = {
        name: plain(getattr(getattr(config, section, None), attribute, "absent"))
        for name, (section, attribute) in wanted.items()
    }
    if wanted is OBSERVED:
        found["speculation"] = _speculation(getattr(config, "speculative_config", None))
    return {f"engine.{name}": value for name, value in found.items()}


def _speculation(config: Any) -> str:  # noqa: ANN401 - the engine's own type
    if config is None:
        return "off"
    return ", ".join(f"{name}={getattr(config, name, None)}" for name in SPECULATION)


def plain(value: Any) -> str:  # noqa: ANN401 - any value of a configuration
    """Write a value shortly: an enumeration's member by its name, a list as JSON.

    >>> plain([1, 2]), plain(None)
    ('[1, 2]', 'None')
    """
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return name
    if isinstance(value, (list, tuple)):
        return json.dumps([one if isinstance(one, (int, float)) else str(one) for one in value])
    return str(value)


def requested(given: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, str]:
    """Name the attention backend that was asked for, by argument or by the variable of older versions.

    >>> requested({"attention_config": {"backend": "TRITON_ATTN"}}, {})
    {'backend.decoder': 'TRITON_ATTN'}
    """
    section = given.get("attention_config")
    inner = section.get("backend") if isinstance(section, Mapping) else None
    asked = given.get("attention_backend") or inner or environment.get("VLLM_ATTENTION_BACKEND")
    return {"backend.decoder": str(asked).upper()} if asked else {}

"""Triton functions of a module: what was compiled is their source text, not the module's code objects.

Triton reads the text from the file when a function is decorated, and builds a binary for every shape that it meets;
the autotuner's choice is the process's own. Everything is told by the objects themselves: Triton is never imported here.
"""

from __future__ import annotations

import hashlib
import types
from typing import Any, Iterator

SHORT = 16  # hexadecimal digits of each binary's hash
MOST_BINARIES = 16
BINARIES = ("cubin", "hsaco", "spv", "ptx", "amdgcn", "llir")  # the closest to the device first
WRAPPERS = ("Autotuner", "Heuristics")


def describe(module: types.ModuleType, text: str) -> tuple[dict[str, str] | None, list[str]]:
    """Describe the Triton functions that a module defines; (None, []) where it has none.

    Args:
        text: what the module's file holds now.

    Returns:
        Flat facts (`kernel.source`, `kernel.cache_key`, `kernel.binaries`, `kernel.autotuned`), and the names of
        functions whose source is not in the file.
    """
    facts: dict[str, str] = {}
    strange: list[str] = []
    for name, layers in _functions(module):
        inner = layers[-1]
        source = _source(inner)
        facts[f"{name}.source"] = hashlib.sha256(source.encode()).hexdigest()
        facts[f"{name}.cache_key"] = _cache_key(inner)
        facts[f"{name}.binaries"] = ",".join(sorted(set(_binaries(inner)))[:MOST_BINARIES])
        choices = [choice for layer in layers[:-1] for choice in _choices(layer)]
        if choices:
            facts[f"{name}.autotuned"] = "; ".join(sorted(choices))
        if source.strip() not in text:
            strange.append(f"{name} (Triton source)")
    return facts or None, strange


def _functions(module: types.ModuleType) -> Iterator[tuple[str, list[Any]]]:
    """Find functions of this module, each with the tuners around it, outermost first."""
    for name, value in list(vars(module).items()):
        layers = [value]
        while _kind(layers[-1]) in WRAPPERS:
            layers.append(layers[-1].fn)
        inner = layers[-1]
        if _kind(inner) == "JITFunction" and _home(inner) == module.__name__:
            yield name, layers


def _kind(value: object) -> str | None:
    names = [kind.__name__ for kind in type(value).__mro__]
    return next((name for name in ("JITFunction", *WRAPPERS) if name in names), None)


def _home(function: Any) -> str | None:  # noqa: ANN401 - Triton's object
    return getattr(getattr(function, "fn", None), "__module__", None)


def _source(function: Any) -> str:  # noqa: ANN401 - the same
    raw = getattr(function, "raw_src", None)
    return "".join(raw) if isinstance(raw, list) else str(raw or getattr(function, "src", ""))


def _cache_key(function: Any) -> str:  # noqa: ANN401 - the same
    try:
        return str(function.cache_key)
    except Exception as error:  # noqa: BLE001 - it asks the driver, and may raise whatever that raises
        return f"unknown: {type(error).__name__}"


def _binaries(function: Any) -> Iterator[str]:  # noqa: ANN401 - the same
    """Hash what was compiled for each device and shape so far; versions keep it under different names."""
    caches = getattr(function, "device_caches", None) or getattr(function, "cache", None) or {}
    for of_device in dict(caches).values():
        compiled = of_device[0] if isinstance(of_device, tuple) else of_device
        for kernel in dict(compiled).values():
            assembly = getattr(kernel, "asm", None) or {}
            form = next((one for one in BINARIES if one in assembly), None)
            if form is not None:
                data = assembly[form]
                data = data.encode() if isinstance(data, str) else data
                yield f"{form}:{hashlib.sha256(data).hexdigest()[:SHORT]}"


def _choices(tuner: Any) -> Iterator[str]:  # noqa: ANN401 - the same
    for key, config in dict(getattr(tuner, "cache", None) or {}).items():
        yield f"{key} -> {config}"

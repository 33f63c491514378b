"""What one process runs as its target: the file, its hashes, and whether the loaded code is that file's."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import TYPE_CHECKING, Any, Sequence

from abtest.probe.code import compile_file, digest, live_functions, nested_digests
from abtest.probe.hook import module_name

if TYPE_CHECKING:
    import types

    from abtest.probe.hook import Hook


def hashes(path: str) -> tuple[str, str]:
    """Hash one file: (md5, sha256)."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        md5 = hashlib.md5(content, usedforsecurity=False)  # type: ignore[call-arg,unused-ignore]  # 3.9 and newer
    except TypeError:
        md5 = hashlib.md5(content)
    return md5.hexdigest(), hashlib.sha256(content).hexdigest()


def module_of(target: str, hook: Hook | None) -> types.ModuleType | None:
    """Find the loaded module of a target in this process, None if it was never imported."""
    if hook is not None and target in hook.modules:
        return hook.modules[target]
    if os.path.isabs(target):
        real = os.path.realpath(target)
        for module in list(sys.modules.values()):
            if os.path.realpath(getattr(module, "__file__", None) or "") == real:
                return module
        return None
    return sys.modules.get(module_name(target))


def describe(target: str, when: str, hook: Hook | None) -> dict[str, Any] | None:
    """Describe the target as this process runs it; None if it was never imported here.

    `match` holds only if the module's own code object, where the hook saw it, and every function that is
    live in the module now are among the code objects that the file at `path` compiles to.
    """
    module = module_of(target, hook)
    path = getattr(module, "__file__", None)
    if module is None or not path:
        return None
    md5, sha256 = hashes(path)
    compiled = compile_file(path)
    known = nested_digests(compiled)
    live = {name: digest(code) for name, code in live_functions(module).items()}
    own = {
        name: value
        for name, value in live.items()
        if _is_own(module, name, path, compiled.co_names)
    }
    strange = sorted(name for name, value in own.items() if value not in known)
    seen = hook.loaded.get(target) if hook is not None else None
    whole = digest(compiled)
    return {
        "pid": os.getpid(),
        "when": when,
        "target": target,
        "path": path,
        "md5": md5,
        "sha256": sha256,
        "loaded_code": seen or _combined(own),
        "compiled_code": whole
        if seen
        else _combined({name: value for name, value in own.items() if value in known}),
        "match": not strange and (seen is None or seen == whole) and bool(own or seen),
        "strange": strange,
        "copies": copies(target, path),
        "pycache_prefix": sys.pycache_prefix,
        "triton": None,
    }


def _is_own(module: types.ModuleType, name: str, path: str, names: Sequence[str]) -> bool:
    """Tell the file's own functions, and anything that took the place of one, from what it imports."""
    top = name.split(".", maxsplit=1)[0]
    value = getattr(module, top, None)
    value = getattr(value, "__abtest_wrapped__", value)
    code = getattr(value, "__code__", None)
    if code is not None and os.path.realpath(code.co_filename) == os.path.realpath(path):
        return True
    return getattr(value, "__module__", None) == module.__name__ or (
        top in names and top in _defined_names(path)
    )


def _defined_names(path: str) -> set[str]:
    """Names that the file defines by def or class at its top level."""
    import ast

    with open(path, "rb") as file:
        tree = ast.parse(file.read())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in tree.body if isinstance(node, kinds)}


def _combined(digests: dict[str, str]) -> str:
    text = "\n".join(f"{name} {value}" for name, value in sorted(digests.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def copies(target: str, used: str) -> list[str]:
    """List other files on the import path that bear the target's name: a patch may have landed in one of them."""
    if os.path.isabs(target):
        return []
    found: list[str] = []
    mine = os.path.realpath(used)
    for folder in sys.path:
        path = os.path.join(folder or ".", target)
        if os.path.isfile(path) and os.path.realpath(path) != mine and path not in found:
            found.append(os.path.abspath(path))
    return found

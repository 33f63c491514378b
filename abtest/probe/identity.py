"""What one process runs as its target: the file, its hashes, and whether the loaded code is that file's."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import TYPE_CHECKING, Any

from abtest.probe import jit
from abtest.probe.code import compile_source, digest, live_functions, nested_digests
from abtest.probe.hook import module_name
from abtest.probe.recorder import original

if TYPE_CHECKING:
    import types

    from abtest.probe.hook import Hook, Load

UNSEEN = "unseen"  # stands for the digest of code that was loaded where no hook of ours looked


def report(target: str, when: str, hook: Hook | None) -> dict[str, Any] | None:
    """Describe the target as this process runs it; None if it was never imported here.

    `match` holds only if the hook saw the module's code object, that code is what the file at `path` compiles
    to now, and no function is live in the module that neither the file holds nor its import put there.

    Beside the agreed keys: `unseen` (imported before or around the hook), `changed` (the file is not the one
    that was imported), `strange` (names that lead to other code), `unreadable` (why there is no compile).
    """
    load = None if hook is None else hook.loads.get(target)
    module = module_of(target, load)
    path = getattr(module, "__file__", None)
    if module is None or not path:
        return None
    content, unreadable = content_of(path)
    compiled_code, known = _compiled(content, path)
    triton, other = jit.describe(module, content.decode("utf-8", "replace"))
    strange = [*strangers(module, path, known, load), *other]
    return {
        "pid": os.getpid(),
        "when": when,
        "target": target,
        "path": path,
        "md5": hashlib.md5(content).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "loaded_code": load.code if load else UNSEEN,
        "compiled_code": compiled_code,
        "match": load is not None and load.code == compiled_code and not strange,
        "copies": copies(target if not os.path.isabs(target) else _relative(module), path),
        "pycache_prefix": sys.pycache_prefix,
        "triton": triton,
        "unseen": load is None,
        "changed": load is not None and load.source_sha256 != hashlib.sha256(content).hexdigest(),
        "strange": strange,
        "unreadable": unreadable,
    }


def module_of(target: str, load: Load | None) -> types.ModuleType | None:
    """Find the loaded module of a target in this process, None if it was never imported."""
    if load is not None:
        return sys.modules.get(load.module)
    if not os.path.isabs(target):
        return sys.modules.get(module_name(target))
    real = os.path.realpath(target)
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and os.path.realpath(path) == real:
            return module
    return None


def strangers(module: types.ModuleType, path: str, known: set[str], load: Load | None) -> list[str]:
    """Name what leads to code that is not the file's.

    Code that other modules put there while the target was imported (decorators, generated methods, imported
    functions) is as it should be as long as it stays the same; code that claims the file must be in the file.
    """
    at_import = {} if load is None else load.functions
    live = live_functions(module, original)
    found = [name for name in at_import if name not in live]
    for name, code in live.items():
        now = digest(code)
        if now in known:
            continue
        foreign = os.path.realpath(code.co_filename) != os.path.realpath(path)
        if not foreign or at_import.get(name, now) != now:
            found.append(name)
    return sorted(found)


def copies(relative: str, used: str) -> list[str]:
    """List other files on the import path that bear the target's name: a patch may have landed in one of them."""
    found: dict[str, str] = {}
    mine = os.path.realpath(used)
    for folder in sys.path:
        path = os.path.abspath(os.path.join(folder or ".", relative))
        if os.path.isfile(path) and os.path.realpath(path) != mine:
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _relative(module: types.ModuleType) -> str:
    path = module.__name__.replace(".", "/")
    return f"{path}/__init__.py" if hasattr(module, "__path__") else f"{path}.py"


def content_of(path: str) -> tuple[bytes, str | None]:
    """Read a file; what cannot be read is empty, and the second part says why."""
    try:
        with open(path, "rb") as file:
            return file.read(), None
    except OSError as error:
        return b"", f"{type(error).__name__}: {error}"


def _compiled(content: bytes, path: str) -> tuple[str, set[str]]:
    try:
        code = compile_source(content, path)
    except (SyntaxError, ValueError) as error:  # a file that is no Python source, or no longer
        return f"{type(error).__name__}: {error}", set()
    return digest(code), nested_digests(code)

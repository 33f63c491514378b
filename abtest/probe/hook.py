"""The import hook: every process of the sandbox compiles the target from its source, and remembers the code.

Installed by `sitecustomize` before anything of the engine is imported. It bypasses every bytecode cache for
the target, so that a stale cache can neither be used nor written, and wraps the route function.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import Any, Sequence

from abtest.probe.code import digest
from abtest.probe.recorder import Recorder


class Hook:
    """What one process knows of its targets."""

    def __init__(self, targets: Sequence[str], routes: dict[str, Any] | None) -> None:
        self.targets = list(targets)
        self.late: list[str] = []
        self.loaded: dict[str, str] = {}  # target -> digest of the module's code object
        self.modules: dict[str, types.ModuleType] = {}
        self.at = routes["at"] if routes else None
        self.recorder = Recorder(routes["record"]) if routes else None

    def module_loaded(self, target: str, module: types.ModuleType) -> None:
        """Wrap the route function, before anybody can import it from the module."""
        self.modules[target] = module
        if self.recorder is None or self.at is None:
            return
        owner, _, name = self.at.partition(":")
        if owner == module.__name__:
            function = getattr(module, name, None)
            if isinstance(function, types.FunctionType):
                setattr(module, name, self.recorder.wrap(function))
            else:
                self.recorder.faults.append(f"{self.at} is not a function of the loaded module")


class _Loader(importlib.machinery.SourceFileLoader):
    """The normal source loader, without its caches."""

    def __init__(self, fullname: str, path: str, target: str, hook: Hook) -> None:
        super().__init__(fullname, path)
        self._target = target
        self._hook = hook

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        code = self.source_to_code(self.get_data(path), path)
        self._hook.loaded[self._target] = digest(code)
        return code

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        self._hook.module_loaded(self._target, module)


class _Finder(importlib.abc.MetaPathFinder):
    """Asks the finders behind it, then takes over the loading of targets."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._modules = {
            module_name(target): target for target in hook.targets if not os.path.isabs(target)
        }
        self._paths = {
            os.path.realpath(target): target for target in hook.targets if os.path.isabs(target)
        }

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._modules and not self._paths:
            return None
        spec = self._from_the_others(fullname, path, target)
        if (
            spec is None
            or not spec.origin
            or not isinstance(spec.loader, importlib.machinery.SourceFileLoader)
        ):
            return spec
        name = self._modules.get(fullname) or self._paths.get(os.path.realpath(spec.origin))
        if name is not None:
            spec.loader = _Loader(fullname, spec.origin, name, self._hook)
            spec.cached = None
        return spec

    def _from_the_others(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


def module_name(target: str) -> str:
    """Turn `pkg/ops/kernel.py` into `pkg.ops.kernel`, and `pkg/__init__.py` into `pkg`."""
    stem = target[: -len(".py")] if target.endswith(".py") else target
    parts = [part for part in stem.split("/") if part]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


_installed: Hook | None = None
problem: str | None = None  # why the hook could not be installed in this process


def install(targets: Sequence[str], routes: dict[str, Any] | None) -> Hook:
    """Install the hook in this process; a target that is loaded already is remembered as late."""
    global _installed  # noqa: PLW0603 - one hook per process, like sys.meta_path itself
    hook = Hook(targets, routes)
    real = {os.path.realpath(target) for target in hook.targets if os.path.isabs(target)}
    for target in hook.targets:
        if not os.path.isabs(target) and module_name(target) in sys.modules:
            hook.late.append(target)
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if real and path and os.path.realpath(path) in real:
            hook.late.append(path)
    sys.meta_path.insert(0, _Finder(hook))
    _installed = hook
    return hook


def installed() -> Hook | None:
    """Return this process's hook, None where there is none."""
    return _installed

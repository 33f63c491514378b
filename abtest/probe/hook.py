"""The import hook: every process of the sandbox compiles the targets from source and remembers the code it ran.

Installed by `sitecustomize` before anything of the engine is imported. It passes every bytecode cache by,
so that a stale one can neither be used nor written, and wraps the route function right after its module ran.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import os
import sys
from typing import TYPE_CHECKING, NamedTuple, Sequence

from abtest.probe import capture
from abtest.probe.code import digest, live_functions
from abtest.probe.recorder import Recorder, original

if TYPE_CHECKING:
    import types

    from abtest.probe.request import Routes


class Load(NamedTuple):
    """One import of a target, as the hook saw it.

    Args:
        module: the name it was imported by.
        code: digest of the very code object that was run.
        source_sha256: hash of the bytes that it was compiled from.
        functions: digest of every function that the module's names led to when its import was done.
    """

    module: str
    code: str
    source_sha256: str
    functions: dict[str, str]


class Hook:
    """What one process knows of its targets."""

    def __init__(self, targets: Sequence[str], routes: Routes | None) -> None:
        self.late: list[str] = []
        self.loads: dict[str, Load] = {}
        self.routes = routes
        self.recorder = None if routes is None else Recorder(routes.record)
        targets = [target for target in targets if not is_library(target)]  # no Python runs in them
        self._modules = {
            module_name(target): target for target in targets if not os.path.isabs(target)
        }
        self._paths = {
            os.path.realpath(target): target for target in targets if os.path.isabs(target)
        }
        self._tails = {_module_tail(path) for path in self._paths}

    def wants(self, fullname: str) -> bool:
        """Tell cheaply whether a module may be a target or the route's module."""
        if fullname in self._modules or (
            self.routes is not None and fullname == self.routes.module
        ):
            return True
        return bool(self._tails) and fullname.rpartition(".")[2] in self._tails

    def target_of(self, fullname: str, path: str | None) -> str | None:
        """Name the target that a module is, None if it is none."""
        named = self._modules.get(fullname)
        if named is None and path and self._paths:
            return self._paths.get(os.path.realpath(path))
        return named

    def note_late(self) -> None:
        """Remember targets that were imported before this hook: nobody saw what code they run."""
        for name, module in list(sys.modules.items()):
            if self.wants(name):
                path = getattr(module, "__file__", None)
                target = self.target_of(name, path)
                if target is not None or (self.routes is not None and name == self.routes.module):
                    self.late.append(target or name)

    def done(
        self, module: types.ModuleType, target: str | None, code: str, source_sha256: str
    ) -> None:
        """Take note of a module that has just run, then wrap the route function if it lives there."""
        if target is not None:
            functions = {
                name: digest(live) for name, live in live_functions(module, original).items()
            }
            self.loads[target] = Load(module.__name__, code, source_sha256, functions)
        if (
            self.recorder is not None
            and self.routes is not None
            and self.routes.module == module.__name__
        ):
            self.recorder.attach(module, self.routes.function)
            capture.watch(self.recorder)


class _Loader(importlib.machinery.SourceFileLoader):
    """The normal source loader; for a target, without its caches."""

    def __init__(self, fullname: str, path: str, target: str | None, hook: Hook) -> None:
        super().__init__(fullname, path)
        self._target = target
        self._hook = hook
        self._seen = ("", "")

    def get_code(self, fullname: str) -> types.CodeType | None:
        if self._target is None:
            return super().get_code(fullname)
        path = self.get_filename(fullname)
        source = self.get_data(path)
        code: types.CodeType = self.source_to_code(source, path)
        self._seen = (digest(code), hashlib.sha256(source).hexdigest())
        return code

    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        self._hook.done(module, self._target, *self._seen)


class Finder(importlib.abc.MetaPathFinder):
    """Asks the finders behind it, then takes over the loading of targets."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not self.hook.wants(fullname):
            return None
        spec = self._ask_the_others(fullname, path, target)
        if (
            spec is None
            or not spec.origin
            or not isinstance(spec.loader, importlib.machinery.SourceFileLoader)
        ):
            return spec  # a compiled module: its own loader runs it, and identity says that nobody saw its source
        named = self.hook.target_of(fullname, spec.origin)
        if named is not None or (
            self.hook.routes is not None and fullname == self.hook.routes.module
        ):
            spec.loader = _Loader(fullname, spec.origin, named, self.hook)
            spec.cached = spec.cached if named is None else None
        return spec

    def _ask_the_others(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


def is_library(target: str) -> bool:
    """Tell a shared library from Python source."""
    return target.endswith(".so")


def module_name(target: str) -> str:
    """Turn a relative target into the module's name.

    >>> module_name("pkg/ops/kernel.py"), module_name("pkg/__init__.py")
    ('pkg.ops.kernel', 'pkg')
    """
    parts = [part for part in os.path.splitext(target)[0].split("/") if part]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _module_tail(path: str) -> str:
    folder, name = os.path.split(path)
    stem = name.partition(".")[0]
    return os.path.basename(folder) if stem == "__init__" else stem


def install(targets: Sequence[str], routes: Routes | None) -> Hook:
    """Put the hook first in this process; a target that is loaded already is remembered as late."""
    hook = Hook(targets, routes)
    hook.note_late()
    sys.meta_path.insert(0, Finder(hook))
    return hook


def uninstall() -> None:
    """Take every hook of ours out of this process; modules that were loaded through it stay."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]


def installed() -> Hook | None:
    """Return this process's hook, None where there is none."""
    for finder in sys.meta_path:
        if isinstance(finder, Finder):
            return finder.hook
    return None

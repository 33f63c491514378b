"""Fingerprints of code objects: what is loaded, against what a file compiles to now."""

from __future__ import annotations

import hashlib
import types
from typing import Any, Callable, Iterator

Unwrap = Callable[[Any], Any]


def digest(code: types.CodeType) -> str:
    """Hash everything that decides what a code object does, and its line table; not where it was read from.

    Bytecode is taken as compiled: what the interpreter specialises while running does not show in `co_code`.
    """
    hasher = hashlib.sha256()
    for part in _parts(code):
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(b"%d:" % len(data))
        hasher.update(data)
    return hasher.hexdigest()


def _parts(code: types.CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    for names in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
        yield repr(names)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    yield repr((code.co_name, getattr(code, "co_qualname", ""), code.co_firstlineno, *counts))
    table = "co_linetable" if hasattr(code, "co_linetable") else "co_lnotab"  # the name before 3.10
    yield bytes(getattr(code, table)).hex()
    yield bytes(getattr(code, "co_exceptiontable", b"")).hex()
    # Python 3.13 collects a class's attribute names in a set, whose order is the process's own
    unordered = "__static_attributes__" in code.co_names
    for constant in code.co_consts:
        yield _constant(frozenset(constant) if unordered and _is_names(constant) else constant)


def _is_names(constant: object) -> bool:
    return isinstance(constant, tuple) and all(isinstance(item, str) for item in constant)


def _constant(value: object) -> str:
    if isinstance(value, types.CodeType):
        return "code " + digest(value)
    if isinstance(value, frozenset):
        return "frozenset " + repr(sorted(map(_constant, value)))
    if isinstance(value, tuple):
        return "tuple " + repr([_constant(item) for item in value])
    if type(value) is int:
        return "int " + hex(value)  # decimal text of huge numbers is refused since 3.11
    return type(value).__name__ + " " + repr(value)


def nested_digests(code: types.CodeType) -> set[str]:
    """Digest a code object and every code object inside it."""
    found = {digest(code)}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= nested_digests(constant)
    return found


def compile_source(source: bytes, path: str) -> types.CodeType:
    """Compile as the import system does, past every cache."""
    return compile(source, path, "exec", dont_inherit=True)


def live_functions(
    module: types.ModuleType, unwrap: Unwrap = lambda value: value
) -> dict[str, types.CodeType]:
    """Collect the code that every name of a module leads to now: functions, and methods of its own classes.

    Args:
        unwrap: gives the original behind a wrapper of ours, anything else as it is. Wrappers of others stay:
            what they hide is not what is called.

    Returns:
        Dotted name (`decode`, `Cache.append`, `Cache.size.fget`) to code object.
    """
    found: dict[str, types.CodeType] = {}
    _Walk(module.__name__, unwrap, found).names("", dict(vars(module)))
    return found


class _Walk:
    def __init__(self, owner: str, unwrap: Unwrap, found: dict[str, types.CodeType]) -> None:
        self._owner = owner
        self._unwrap = unwrap
        self._found = found
        self._classes: set[int] = set()

    def names(self, prefix: str, values: dict[str, Any]) -> None:
        for name, value in values.items():
            self._visit(prefix + name, value)

    def _visit(self, name: str, value: Any) -> None:  # noqa: ANN401 - any attribute
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        value = self._unwrap(value)
        if isinstance(value, property):
            for part in ("fget", "fset", "fdel"):
                self._visit(f"{name}.{part}", getattr(value, part))
        elif isinstance(value, types.FunctionType):
            self._found[name] = value.__code__
        elif (
            isinstance(value, type)
            and value.__module__ == self._owner
            and id(value) not in self._classes
        ):
            self._classes.add(id(value))
            self.names(name + ".", dict(vars(value)))

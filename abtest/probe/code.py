"""Fingerprints of code objects: what is loaded, against what a file compiles to now."""

from __future__ import annotations

import hashlib
import types
from typing import Any, Iterator


def digest(code: types.CodeType) -> str:
    """Hash everything that decides what a code object does, and its line table; not where it was read from."""
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
    for constant in code.co_consts:
        yield _constant(constant)


def _constant(value: Any) -> str:  # noqa: ANN401 - a constant is of any type
    if isinstance(value, types.CodeType):
        return "code " + digest(value)
    if isinstance(value, frozenset):
        return "frozenset " + repr(sorted(map(_constant, value)))
    if isinstance(value, tuple):
        return "tuple " + repr([_constant(item) for item in value])
    return type(value).__name__ + " " + repr(value)


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """Walk a code object and every code object inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def nested_digests(code: types.CodeType) -> set[str]:
    return {digest(inner) for inner in nested(code)}


def compile_file(path: str) -> types.CodeType:
    """Compile a source file anew, past every cache."""
    with open(path, "rb") as file:
        source = file.read()
    return compile(source, path, "exec", dont_inherit=True)


def live_functions(module: types.ModuleType) -> dict[str, types.CodeType]:
    """Collect the code of every function and method that the module defines under its own name.

    Functions that a recorder of ours wraps are looked at behind the wrapper. What was imported from
    elsewhere is left out, unless it took the place of a name that the module's file defines.
    """
    found: dict[str, types.CodeType] = {}
    for name, value in list(vars(module).items()):
        _collect(name, value, module.__name__, found)
    return found


def _collect(name: str, value: Any, owner: str, found: dict[str, types.CodeType]) -> None:  # noqa: ANN401 - any attribute
    value = getattr(value, "__abtest_wrapped__", value)
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, property):
        for part in ("fget", "fset", "fdel"):
            _collect(name + "." + part, getattr(value, part), owner, found)
    elif isinstance(value, types.FunctionType):
        found[name] = value.__code__
    elif isinstance(value, type) and value.__module__ == owner:
        for inner, attribute in list(vars(value).items()):
            _collect(name + "." + inner, attribute, owner, found)

"""A known slow-down: the baseline's own source, with one function held up for a fixed time at each call.

The wait is a busy loop on a monotonic clock, in the function's own body: it stands where the kernel's work
stands, takes a core as that work does, keeps the function's locals readable for the recorder, and needs
nothing but the standard library. Where an engine replays captured graphs, or launches work that it does not
wait for, Python in the target does not decide how long a step takes; a control there finds less than was planted.
"""

import ast

from abtest.errors import UsageError
from abtest.sources import Made

_LINES = (
    "import time as _held_time; _held_until_s = _held_time.perf_counter() + {held_s!r}  # planted by a control",
    "while _held_time.perf_counter() < _held_until_s: pass",
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def plant(made: Made, function: str, held_s: float) -> Made:
    """Hold up each call of a function of an arm's file."""
    content = held_up(made.content, function, held_s)
    return Made(content, f"{made.origin}; {function} held up for {1000 * held_s:g} ms per call")


def held_up(content: bytes, function: str, held_s: float) -> bytes:
    """Hold up each call of a function of a Python file.

    Args:
        function: `name`, or `Class.name`, defined at the file's top level.
        held_s: seconds per call.

    Raises:
        UsageError: the file is no Python, or has no such function that can be held up.
    """
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError) as error:
        raise _refusal(f"the target cannot be parsed: {error}") from error
    found = _find(tree, function)
    if found is None:
        raise _refusal(f"the target defines no {function} at its top level")
    if found.decorator_list:
        raise _refusal(f"{function} is decorated: what is called may not be its Python body")
    first = _first_statement(found)
    lines = content.splitlines(keepends=True)
    line = first.lineno - 1
    before = lines[line][: first.col_offset].removesuffix(b"@")
    indent = before[: len(before) - len(before.lstrip(b" \t"))]
    if before != indent:
        raise _refusal(f"the body of {function} begins on the line of its head")
    end = b"\r\n" if lines[line].endswith(b"\r\n") else b"\n"
    planted = [indent + text.format(held_s=held_s).encode() + end for text in _LINES]
    return b"".join((*lines[:line], *planted, *lines[line:]))


def _find(tree: ast.Module, function: str) -> _Function | None:
    *owners, name = function.split(".")
    body: list[ast.stmt] = tree.body
    for owner in owners:
        inner = [one for one in body if isinstance(one, ast.ClassDef) and one.name == owner]
        if not inner:
            return None
        body = inner[-1].body
    found = [one for one in body if isinstance(one, _Function) and one.name == name]
    return found[-1] if found else None


def _first_statement(function: _Function) -> ast.expr | ast.stmt:
    """Find where the body begins, behind a docstring; a decorator stands above what it decorates."""
    has_text = ast.get_docstring(function, clean=False) is not None and len(function.body) > 1
    first = function.body[1 if has_text else 0]
    decorators = getattr(first, "decorator_list", [])
    return decorators[0] if decorators else first


def _refusal(what: str) -> UsageError:
    return UsageError(
        f"nothing can be planted: {what}",
        remedy="Let `routes.at` name a plain function of the target that every decode step calls.",
    )

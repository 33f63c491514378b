"""The form of a file that tables are made from: each field holds what its type says, so that nothing foreign gets further."""

from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

Fits = Callable[[Any], bool]
LARGEST = 1 << 63  # no count is larger
INFINITE = float("inf")  # less than this holds for no infinity, and for nothing that is no number


def form_of(kind: type) -> dict[str, Fits]:
    """Make a test for each field of a class."""
    return {name: fits(hint) for name, hint in get_type_hints(kind).items() if name[0] != "_"}


def fits(hint: Any) -> Fits:  # noqa: ANN401 - a type, or what typing makes of one
    """Make the test of one type.

    >>> fits(tuple[int, ...])((1, 2)), fits(float | None)("1")
    (True, False)
    """
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda _value: True
    if hint in {int, float}:
        kinds, most = ((int,), LARGEST) if hint is int else ((int, float), INFINITE)
        return lambda value: isinstance(value, kinds) and abs(value) < most
    if isinstance(hint, UnionType):
        tests = [fits(one) for one in inside]
        return lambda value: any(test(value) for test in tests)
    if origin is Mapping:
        inner = fits(inside[1])
        return lambda value: isinstance(value, dict) and all(map(inner, value.values()))
    if origin is tuple:
        inner = fits(inside[0])  # all parts of a tuple are of one type here
        count = None if inside[1] is Ellipsis else len(inside)
        return lambda value: (
            isinstance(value, tuple) and count in {None, len(value)} and all(map(inner, value))
        )
    return lambda value: isinstance(value, hint)

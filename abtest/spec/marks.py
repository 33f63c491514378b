"""YAML with line numbers: where each key of a document stands."""

from collections.abc import Hashable
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from abtest.errors import SpecError

KeyPath = tuple[str | int, ...]
MAX_BYTES = 1 << 20
MAX_DEPTH = 20


class Marks:
    """Line numbers (from 1) of the keys of one document; a path that is not there falls back to its parent."""

    def __init__(self, file: str, lines: dict[KeyPath, int]) -> None:
        self.file = file
        self._lines = lines

    def line(self, path: KeyPath) -> int:
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def error(self, path: KeyPath, problem: str, *, remedy: str = "") -> SpecError:
        """Make the error that names file, line and key path."""
        key = ".".join(str(part) for part in path) or "(the whole file)"
        return SpecError(f"{self.file}:{self.line(path)}: {key}: {problem}", remedy=remedy)


def read(file: str, text: str) -> tuple[dict[str, Any], Marks]:
    """Parse one YAML mapping safely.

    Raises:
        SpecError: not YAML, not a mapping, a key twice, a key that is no text, an alias, or a custom tag.
    """
    marks = Marks(file, {})
    if len(text.encode()) > MAX_BYTES:
        raise marks.error(
            (),
            f"larger than {MAX_BYTES} bytes",
            remedy="Keep kernels and data in files of their own.",
        )
    try:
        _refuse_aliases(file, text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if not isinstance(node, MappingNode):
            raise marks.error((), "not a mapping of keys", remedy="Start with `schema: 1`.")
        marks = Marks(file, _walk(file, node, (), {(): 1}))
        data: dict[str, Any] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _syntax_error(file, error) from error
    except (
        ValueError,
        RecursionError,
    ) as error:  # such as an impossible date, or thousands of brackets
        raise marks.error(
            (), f"cannot be read: {type(error).__name__}", remedy="Quote odd values."
        ) from error
    return data, marks


def _syntax_error(file: str, error: yaml.YAMLError) -> SpecError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark is not None else 1
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return SpecError(
        f"{file}:{line}: (YAML): {problem}",
        remedy="Mend the YAML; tags such as !!python are never read, and text with odd characters needs quotes.",
    )


def _refuse_aliases(file: str, text: str) -> None:
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.AliasToken):
            where = f"{file}:{token.start_mark.line + 1}"
            raise SpecError(
                f"{where}: (YAML): the alias *{token.value} is not supported",
                remedy="Write the value out; an experiment should read without jumps.",
            )


def _walk(file: str, node: Node, path: KeyPath, lines: dict[KeyPath, int]) -> dict[KeyPath, int]:
    if len(path) > MAX_DEPTH:
        raise Marks(file, lines).error(path[:3], "nested too deeply", remedy="Flatten the file.")
    if isinstance(node, MappingNode):
        for key, value in node.value:
            inner = (*path, _key(file, key, path, lines))
            if inner in lines:
                problem = f"the key stands twice (first in line {lines[inner]})"
                raise SpecError(
                    f"{file}:{key.start_mark.line + 1}: {'.'.join(map(str, inner))}: {problem}",
                    remedy="Remove one of the two.",
                )
            lines[inner] = key.start_mark.line + 1
            _walk(file, value, inner, lines)
    elif isinstance(node, SequenceNode):
        for index, value in enumerate(node.value):
            lines[*path, index] = value.start_mark.line + 1
            _walk(file, value, (*path, index), lines)
    return lines


def _key(file: str, key: Node, path: KeyPath, lines: dict[KeyPath, int]) -> str:
    value: Hashable = key.value if isinstance(key, ScalarNode) else None
    if not isinstance(value, str) or key.tag != "tag:yaml.org,2002:str":
        lines[*path, str(value)] = key.start_mark.line + 1
        raise Marks(file, lines).error(
            (*path, str(value)),
            "the key is not text (YAML reads yes, no, on, off and numbers as other types)",
            remedy=f'Put it in quotes: "{value}".',
        )
    return value

"""Prompts: bytes of a text that ships with the engine, always the same for a length and an index."""

from functools import cache
from pathlib import Path

STRIDE = 1009  # bytes between the starts of two prompts of one batch


@cache
def _text() -> bytes:
    return (Path(__file__).parent / "prompt.txt").read_bytes()


def default_prompt(length: int, index: int = 0) -> list[int]:
    """Cut `length` token ids (bytes) out of the text; the text begins anew where it ends.

    Args:
        index: prompts of a batch start at different places.
    """
    text = _text()
    start = index * STRIDE % len(text)
    repeated = text[start:] + text * (length // len(text) + 1)
    return list(repeated[:length])

"""Prompts as token ids: exactly as long as asked for, the same in every process, different in each sequence."""

from __future__ import annotations

import random
from typing import Callable

SEED = 20240817
FIRST_ID = 16  # vocabularies keep their special tokens at the lowest ids, or far above the words
PARAGRAPHS = (
    (
        "The harbour wakes before the town does. Gulls argue over the night's leavings while the first"
        " boats come in low, their decks bright with rope and scale, and someone on the quay counts crates aloud."
    ),
    (
        "To sort a pile of letters by hand, take the whole pile apart by street, then each street by number;"
        " two passes of a hundred are quicker than one of ten thousand, and fewer letters are handled twice."
    ),
    (
        "Rain on a tin roof sounds like applause to a tired audience. We listened to it for an hour, drank cold"
        " tea out of jars, and agreed that the bridge ought to have been built of stone in the first place."
    ),
    (
        "A clock that runs slow is right about the order of things, though never about their time. For most"
        " questions that is enough: which came first, how often, and what always follows what."
    ),
    (
        "She measured the field in paces, wrote the figure on a door, and measured it again the next morning."
        " The two figures differed by nine. The third lay between them, so she kept all three and said so."
    ),
    (
        "Copper, tin, and patience make a bell. The mould must be dry, the metal must be one heat throughout,"
        " and nobody may speak while it is poured, or so the founders told every visitor who asked too much."
    ),
)


def from_vocabulary(size: int, length: int, index: int) -> list[int]:
    """Draw ids of a vocabulary evenly; for engines without a tokenizer, where no text can be encoded.

    >>> from_vocabulary(1024, 3, 0) == from_vocabulary(1024, 5, 0)[:3]
    True
    """
    draw = random.Random(SEED + index)
    lowest = min(FIRST_ID, size - 1)
    return [draw.randrange(lowest, size) for _ in range(length)]


def from_text(encode: Callable[[str], list[int]], length: int, index: int) -> list[int]:
    """Encode fixed prose, as much of it as is needed, in an order of its own for each sequence.

    The ids themselves are cut to length: decoding and encoding again would change their number.

    Raises:
        ValueError: the tokenizer makes nothing of it.
    """
    draw = random.Random(SEED + index)
    ids: list[int] = []
    number = 0
    while len(ids) < length:
        order = list(PARAGRAPHS)
        draw.shuffle(order)
        lines = [f"{number + place}. {text}" for place, text in enumerate(order, start=1)]
        more = encode("\n".join(lines) + "\n")
        if not more:
            raise ValueError("the tokenizer makes no tokens of plain English text")
        ids += more
        number += len(order)
    return ids[:length]

"""When looking on is over: a fixed rule over four, eight and twelve rounds."""

from collections.abc import Sequence

import pytest

from abtest.analysis.explain import flag
from abtest.analysis.looks import next_rounds
from abtest.model.names import Cell
from abtest.model.result import CellSummary


@pytest.mark.parametrize(
    ("n", "names", "asked"),
    [
        (2, ["suspect", "few-rounds"], 4),
        (3, ["suspect"], 4),
        (4, ["suspect", "bimodal?"], 8),
        (4, ["prefill-dominated"], None),
        (4, ["noise-limited"], None),  # more pairs help there, more rounds do not
        (4, [], None),
        (6, ["bimodal"], 8),
        (6, ["drift"], 8),
        (8, ["bimodal", "order-confounded"], None),
        (8, ["drift"], None),
        (8, ["outlier"], None),
        (8, ["suspect"], 12),
        (12, ["unstable"], None),
        (14, ["suspect"], None),
    ],
)
def test_the_next_look(n: int, names: Sequence[str], asked: int | None) -> None:
    flags = tuple(flag(name, "fast@512", "") for name in names)
    rounds = tuple(range(1, n + 1))
    rates = (1.0,) * n
    cell = CellSummary(
        Cell.parse("fast@512"), n, 0, rounds, rates, (1,) * n, 1.0, 1.0, 0.0, 6.0, 1.0, None,
        flags=flags,
    )  # fmt: skip
    assert next_rounds(cell) == asked

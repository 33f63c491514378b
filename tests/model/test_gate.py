"""What a gate's text may be, and which cells it is about."""

import pytest

from abtest.model.gate import Gate
from abtest.model.names import Condition

CONDITIONS = (Condition(512), Condition(8192), Condition(8192, 4))


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("splitkv@8192>=1.05", ["splitkv@8192"]),
        (" splitkv@8192 >= 1.05 ", ["splitkv@8192"]),
        ("splitkv@8192x4>=1.05", ["splitkv@8192x4"]),
        ("splitkv@*>=1.05", ["splitkv@512", "splitkv@8192", "splitkv@8192x4"]),
        ("splitkv@*x4>=1.05", ["splitkv@8192x4"]),
        ("splitkv@77>=1.05", []),
    ],
)
def test_a_gate_is_about_the_cells_it_names(text: str, cells: list[str]) -> None:
    gate = Gate.parse(text)
    assert [str(cell) for cell in gate.cells(CONDITIONS)] == cells
    assert Gate.parse(str(gate)) == gate


@pytest.mark.parametrize(
    "text",
    [
        "splitkv@8192",
        "splitkv@8192>1.05",
        "splitkv@8192<=1.05",
        "splitkv@8192>=0",
        "splitkv@8192>=-1",
        "splitkv@8192>=nan",
        "splitkv@8192>=1e3",
        "splitkv@0>=1",
        "*@8192>=1.05",
        "@8192>=1.05",
        "",
    ],
)
def test_any_other_text_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"such as splitkv@8192>=1\.05"):
        Gate.parse(text)

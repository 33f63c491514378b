"""Paths into the locals of a recorded function."""

import array
from types import SimpleNamespace

import pytest

from abtest.probe.lookup import MISSING, find, parse

LOCALS = {
    "plain": 3,
    "self": SimpleNamespace(inner=SimpleNamespace(heads=8)),
    "table": [5, 6],
    "packed": array.array("b", bytes(64) + (7).to_bytes(4, "little")),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", 3),
        ("self.inner.heads", 8),
        ("table[1]", 6),
        ("seven=packed@i32[16]", 7),
        ("packed@i64[0]", 0),
        ("nowhere", MISSING),
        ("self.nowhere.heads", MISSING),
        ("table[2]", MISSING),
        ("packed@i32[17]", MISSING),
        ("plain[0]", MISSING),
    ],
)
def test_a_path_leads_to_a_value_or_to_nothing(text: str, value: object) -> None:
    assert find(parse(text), LOCALS) is value or find(parse(text), LOCALS) == value


@pytest.mark.parametrize("text", ["", "1a", "a.b()", "a@i32", "a[b]", "a@f32[1]", "a=b=c", "a b"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not of the form"):
        parse(text)

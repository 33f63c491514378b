"""Images from a recipe: what ran, how it got there, and what is refused."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import ImageLab

pytestmark = pytest.mark.docker


def test_an_image_is_built_once_and_both_arms_are_copied_in(lab: "ImageLab") -> None:
    """The recipe's entry point (/bin/false, not even there) is replaced, and the interpreter found."""
    assert lab.run() in (0, 5)
    trials = lab.trials()
    assert [trial["status"] for trial in trials] == ["ok"] * 6
    assert len({trial["container"]["image_id"] for trial in trials}) == 1
    assert len({trial["container"]["id"] for trial in trials}) == 6
    seen = {
        (trial["arm"], entry["md5"], entry["path"])
        for trial in trials
        for entry in trial["identity"]
    }
    assert {arm for arm, _, _ in seen} == {"stock", "fast"}
    assert len({md5 for _, md5, _ in seen}) == 2
    assert {path for _, _, path in seen} == {"/opt/site/refengine/ops/paged_attention.py"}

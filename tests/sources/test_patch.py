"""Diffs apply exactly, or not at all (A11)."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abtest.errors import SpecError
from abtest.sources.patch import apply

BASE = b"a\nb\nc\nd\ne\n"
TARGET = "pkg/ops/kernel.py"


def split(data: bytes) -> list[bytes]:
    """Split at line feeds only, as git does."""
    parts = data.split(b"\n")
    return [line + b"\n" for line in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def diff(old: bytes, new: bytes, name: str = f"a/{TARGET}", context: int = 3) -> bytes:
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        split(old),
        split(new),
        name.encode(),
        name.encode().replace(b"a/", b"b/", 1),
        n=context,
    )
    ends = b"\n\\ No newline at end of file\n"
    return b"".join(line if line.endswith(b"\n") else line + ends for line in lines)


def patched(text: bytes, base: bytes = BASE, target: str = TARGET) -> bytes:
    return apply(text, base, target, "arm fast: x.diff")


@given(
    old=st.lists(st.sampled_from([b"a", b"b", b"\xff", b"x\x0cy", b""]), max_size=12),
    new=st.lists(st.sampled_from([b"a", b"b", b"z\r", b""]), min_size=1, max_size=12),
    context=st.integers(0, 3),
    ends=st.booleans(),
)
def test_any_diff_leads_from_its_old_to_its_new_file(
    old: list[bytes], new: list[bytes], context: int, *, ends: bool
) -> None:
    before = b"\n".join(old) + (b"\n" if old and ends else b"")
    after = b"\n".join(new) + b"\n"
    text = diff(before, after, context=context)
    if text:
        assert patched(text, before) == after


@pytest.mark.parametrize(
    "base",
    [
        b"a\nb\nC\nd\ne\n",  # another context
        b"new\n" + BASE,  # the same lines, one further down: no offset is forgiven
        b"a\nb\n",  # too short
        b"",
    ],
)
def test_a11_a_hunk_that_does_not_fit_exactly_is_refused(base: bytes) -> None:
    text = diff(BASE, b"a\nb\nc\nD\ne\n")
    with pytest.raises(SpecError, match=r"hunk 1 of 1.*does not fit") as caught:
        patched(text, base)
    assert caught.value.exit_code == 2


def test_a_second_hunk_that_fails_leaves_nothing_half_done() -> None:
    old = b"".join(b"%d\n" % number for number in range(40))
    new = old.replace(b"\n3\n", b"\nthree\n").replace(b"\n33\n", b"\nthirty\n")
    text = diff(old, new)
    assert patched(text, old) == new
    with pytest.raises(SpecError, match="hunk 2 of 2"):
        patched(text, old.replace(b"\n34\n", b"\nother\n"))


def test_the_part_for_the_target_is_taken_and_others_are_left() -> None:
    text = diff(BASE, b"a\nb\nX\nd\ne\n") + diff(BASE, b"Z\n", "a/pkg/other.py")
    assert patched(text) == b"a\nb\nX\nd\ne\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (diff(BASE, b"x\n", "a/pkg/other.py"), "0 of its parts"),
        (diff(BASE, b"x\n", "a/ops/notkernel.py"), "0 of its parts"),
        (b"", "changes nothing"),
        (b"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n", "not a unified diff"),
        (b"--- /dev/null\n+++ b/pkg/ops/kernel.py\n@@ -0,0 +1 @@\n+a\n", "as a whole"),
        (diff(BASE, b"x\n") + diff(BASE, b"y\n"), "2 of its parts"),
    ],
)
def test_a_diff_that_is_not_for_this_file_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        patched(text)

"""The list of flags in docs/method.md is that of the code.

After a change of a flag, write it again with `ABTEST_WRITE_GOLDEN=1 pytest tests/docs`, and read the diff.
"""

import os
import re
from pathlib import Path

from abtest.analysis.explain import TEXTS

BEGIN, END = re.compile(r"<!-- flags: .* -->\n"), "<!-- /flags -->"
NAME = re.compile(r"""\b(?:flag|Finding)\(\s*"([^"]+)\"""")


def rows() -> str:
    """One row per flag, in the order of the alphabet."""
    found = [f"| `{name}` | {why} | {remedy} |" for name, (why, remedy) in sorted(TEXTS.items())]
    return "\n".join(["| flag | why it matters | what to do |", "|---|---|---|", *found]) + "\n"


def test_every_flag_of_the_code_has_an_entry_and_no_entry_is_left_over(repository: Path) -> None:
    path = repository / "docs" / "method.md"
    text = path.read_text(encoding="utf-8")
    begin = BEGIN.search(text)
    assert begin is not None
    wanted = text[: begin.end()] + rows() + text[text.index(END) :]
    if os.environ.get("ABTEST_WRITE_GOLDEN") == "1":
        path.write_text(wanted, encoding="utf-8")
        text = wanted
    named = set(re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE))
    assert named == set(TEXTS), "see the first lines of this file"
    assert text == wanted, "see the first lines of this file"


def test_every_flag_that_the_code_makes_is_explained(repository: Path) -> None:
    """A name without an explanation would end the analysis of the run in which it first fires."""
    sources = (repository / "abtest" / "analysis").glob("*.py")
    made = {name for path in sources for name in NAME.findall(path.read_text(encoding="utf-8"))}
    assert len(made) > 15
    assert made <= set(TEXTS)

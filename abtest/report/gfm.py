"""GitHub Markdown from foreign text: nothing in a name, a reason or a value becomes markup, a link or a mention."""

import re
from collections.abc import Iterable, Sequence

from abtest.report.neutralise import neutral

LONGEST = 400  # characters of one foreign text; a longer one is cut, and says by how much
_TAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/=+,@() -]*")
_CELL = (
    r"(?<=\w)@(?=\d+(?:x\d+)?(?!\w|\.\w))"  # as in splitkv@8192: neither a mention nor an address
)
_MARKUP = re.compile(
    r"[\\*~`<>&|$\[\]#]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # inside a word it marks nothing
    rf"|(?!{_CELL})@"
    r"|:(?=//|[\w+-]+:)|(?i:(?<=www))\."  # links that need no markup, and shortcodes
    r"|\A[-+=]|(?:(?<=\A\d)|(?<=\A\d\d))[.)](?=\s|\Z)"  # lists and rules; a text may open a line
)
# Entities where a backslash does not help: table rows are split before escapes are read, and the forge looks for
# mentions and issue numbers in the text that is left after Markdown. A zero-width space parts those.
_ENTITIES = {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "`": "&#96;", "$": "&#36;",
    "@": "@&#8203;", "#": "#&#8203;",
}  # fmt: skip


def escape(text: str) -> str:
    r"""Write foreign text so that it is shown as it is.

    >>> escape("a|b <i> @someone 3.5 [x](y), splitkv@8192")
    'a&#124;b &lt;i&gt; @&#8203;someone 3.5 \\[x\\](y), splitkv@8192'
    """
    return _MARKUP.sub(
        lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), neutral(shortened(text))
    )


def code(text: str) -> str:
    """Set a tame name or value as code, where no mention or link is looked for; escape any other.

    >>> code("splitkv@8192"), code("a`b")
    ('`splitkv@8192`', 'a&#96;b')
    """
    whole = shortened(text)
    return f"`{whole}`" if _TAME.fullmatch(whole) and not whole.endswith(" ") else escape(text)


def shortened(text: str, longest: int = LONGEST) -> str:
    """Cut a text that would push everything else out of a comment.

    >>> shortened("abcdef", 4)
    'abcd (2 characters more)'
    """
    more = len(text) - longest
    return f"{text[:longest]} ({more} characters more)" if more > 0 else text


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: frozenset[int]) -> str:
    """Write a table; the cells are Markdown already.

    Args:
        right: the places of the columns that stand to the right.
    """
    rule = ("---:" if place in right else "---" for place in range(len(head)))
    return "\n".join(_row(cells) for cells in (head, tuple(rule), *rows)) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def fold(title: str, body: str) -> str:
    """Hide a body behind a title, both Markdown already; the blank lines let Markdown be read inside."""
    return f"<details>\n<summary>{title}</summary>\n\n{body.strip()}\n\n</details>\n"


def fence(body: str, language: str = "") -> str:
    """Set lines as code, with a fence longer than any run of backticks in them."""
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{body.rstrip()}\n{marks}\n"

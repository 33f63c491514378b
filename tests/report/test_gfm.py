"""Foreign text in GitHub's own parser: shown as it is, and nothing of it acts."""

import html
import re

import cmarkgfm
import pytest

from abtest.report import gfm

HOSTILE = (
    "a|b", "`tick` ``x`` `", "<script>alert(1)</script>", "</details>", "<!-- -->", "@someone and @org/team",
    "[x](http://evil.example)", "![x](http://evil.example/i.png)", "http://evil.example www.evil.example",
    "mail a@b.example now", "*bold* _em_ ~~gone~~ **x**", "# head", "> quote", "- item", "1. item", "\\| \\` \\",
    "&lt;b&gt; &#64;", "$math$ :tada: #12", "mailto:a@b.example WWW.evil.example ftp://x.example", "99) item", "+ item", "===",
    "a__b__ __c__ _d", "x@8192.example.org y", "---", "| a | b |\n|---|---|",
)  # fmt: skip


def shown(markdown: str) -> str:
    """The text a reader sees, by the parser of the forge."""
    rendered = cmarkgfm.github_flavored_markdown_to_html(markdown)
    return html.unescape(re.sub(r"<[^>]*>", "", rendered)).replace("\u200b", "").strip()


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_is_shown_as_it_is_and_makes_no_markup(text: str) -> None:
    rendered = cmarkgfm.github_flavored_markdown_to_html(f"x {gfm.escape(text)} y")
    assert re.findall(r"<[^>]+>", rendered) == ["<p>", "</p>"]
    assert shown(f"x {gfm.escape(text)} y") == f"x {text} y".replace("\n", "\\x0a")
    alone = cmarkgfm.github_flavored_markdown_to_html(gfm.escape(text))
    assert re.findall(r"<[^>]+>", alone) == ["<p>", "</p>"]


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_stays_in_its_cell_of_a_table(text: str) -> None:
    markdown = gfm.table(("one", "two"), [(gfm.escape(text), gfm.code(text))], frozenset())
    rendered = cmarkgfm.github_flavored_markdown_to_html(markdown)
    assert rendered.count("<td>") == 2
    assert set(re.findall(r"<(\w+)", rendered)) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}  # fmt: skip


def test_nobody_is_mentioned_and_no_issue_is_named() -> None:
    rendered = cmarkgfm.github_flavored_markdown_to_html(gfm.escape("@someone #12 a@b.example"))
    assert not re.search(r"@\w|#\d", rendered)


def test_the_parser_of_these_tests_would_see_markup() -> None:
    """Without the escape the same parser makes elements of the same text."""
    rendered = cmarkgfm.github_flavored_markdown_to_html("*x* a@b.example | <b>")
    assert {"em", "a"} <= set(re.findall(r"<(\w+)", rendered))


def test_a_fold_ends_where_it_should_and_a_fence_is_longer_than_what_it_holds() -> None:
    markdown = gfm.fold("t", gfm.fence("a\n```\nb", "text") + "\n" + gfm.escape("</details>"))
    rendered = cmarkgfm.github_flavored_markdown_to_html(
        markdown, options=cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE
    )
    assert rendered.count("</details>") == 1
    assert rendered.count("<pre") == 1
    assert "```" in rendered

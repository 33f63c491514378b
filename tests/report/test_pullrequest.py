"""The comment for a pull request, read by the forge's own parser."""

import html
import re
from dataclasses import replace
from typing import Any

import cmarkgfm
import pytest

from abtest.analysis.summary import summarize
from abtest.model.result import Difference, Interval, Summary, Verdict
from abtest.model.trial import Kernel, RouteCount, Status, TrialRecord
from abtest.report import markdown, pullrequest
from abtest.report.origin import Origin
from tests.report import test_published_table as published
from tests.report import test_summary as simulated

HOSTILE = "a|b `c` </details><script>x</script> @someone #1 ![i](http://evil.example)\n| x |\x1b[2J"
ORIGIN = Origin((("image id", "sha256:ab12"), ("image digest", "none")), ("abtest", "run", "x y"))


def rendered(text: str) -> str:
    unsafe = (
        cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE
    )  # as the forge does; it filters tags afterwards
    return str(cmarkgfm.github_flavored_markdown_to_html(text, options=unsafe))


def tables(text: str) -> list[list[list[str]]]:
    """The words of every table, row by row."""
    return [
        [
            [html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        ]
        for table in re.findall(r"<table>(.*?)</table>", rendered(text), re.DOTALL)
    ]  # fmt: skip


def comment(
    found: list[TrialRecord] | None = None, most: int = pullrequest.MOST, **change: Any
) -> str:
    records = simulated.records() if found is None else found
    summary: Summary = simulated.summary(records)
    return pullrequest.render(replace(summary, **change), records, ORIGIN, most)


def test_one_row_per_condition_with_both_arms_and_its_flags() -> None:
    (head, row), *_ = tables(comment())
    assert dict(zip(head, row, strict=True)) == {
        "cell": "fast@512", "stock tok/s (ms)": "49.9 (20.05)", "fast tok/s (ms)": "99.8 (10.02)", "speed-up": "2.00x",
        "interval": "2.00 to 2.00 (paired t on log ratios, 95 %)", "verdict": "faster",
        "spread stock, fast": "0.3 % (of 7.9), 0.3 % (of 7.9)", "n": "4", "voids": "0", "flags": "-",
    }  # fmt: skip
    rows = tables(markdown.render(published.published()))[0][1:]
    assert [row[0] for row in rows] == ["splitkv@1024", "splitkv@8192", "splitkv@32768"]
    assert "bimodal?" in rows[1][-1]
    assert "prefill-dominated" in rows[1][-1]


def test_a_ratio_that_is_not_claimed_stands_in_brackets_and_never_in_the_headline() -> None:
    text = markdown.render(published.published())
    assert "(9.46x; 9.45x by mean times)" in [row[3] for row in tables(text)[0]]
    assert "**Inconclusive at 1024, 8192, 32768.**" in text
    assert "**Faster at 512 (2.00x).**" in comment()


@pytest.mark.parametrize("verdict", [Verdict.INVALID, Verdict.INCONCLUSIVE])
def test_an_effect_that_cannot_claim_a_ratio_shows_none(verdict: Verdict) -> None:
    """Even if the effect still carried one, and an interval from which it could be read."""
    (effect,) = simulated.summary(simulated.records()).effects
    bad = replace(effect, verdict=verdict, interval=Interval(1.5, 2.5, 0.95, "t"))
    if verdict is Verdict.INCONCLUSIVE:
        bad = replace(bad, speedup=None)
    text = comment(effects=(bad,))
    row = tables(text)[0][1]
    assert row[3:5] == ["-", "-"]
    assert "**Nothing can be compared" in text
    assert not re.search(r"\d x\b|\d\.\d+x", text)


def test_a_simulated_run_claims_nothing() -> None:
    text = comment(simulated.records(isolation="simulated"))
    assert "**Simulated: nothing was measured.**" in text
    row = tables(text)[0][1]
    assert (row[3], row[5]) == ("(2.00x)", "simulated")


def test_the_folds_hold_what_a_reviewer_asks_for() -> None:
    text = comment([*simulated.records(), simulated.record("fast", 1, 2, status=Status.VOID, reason="hot")])  # fmt: skip
    assert rendered(text).count("<details>") == rendered(text).count("</details>") == 2
    assert "void: hot" in text
    assert "void-trials" in text
    assert "stock@512 round 1: S 1.0000 L 2.1211" in text
    assert "`abtest run" not in text
    assert "\nabtest run 'x y'\n" in text
    assert "| A/A floor | none: no A/A run was named |" in text
    assert "| driver | not recorded |" in text
    assert "| image id | sha256:ab12 |" in text
    assert "| `fast` | 1 | `pkg/k.py` | `fast-md5-hash` | `c` | yes | 4 |" in text  # fmt: skip
    assert "| `stock` | decode | `use_splitkv=False` | 512 | 0 | 12 |" in text


def test_kernels_are_those_that_take_longest() -> None:
    kernels = tuple(Kernel(0, f"k{i}", 1, float(i)) for i in range(10))
    text = comment(simulated.records(kernels=kernels))
    assert "| `fast@512` | `k9` | 9.000 |" in text
    assert "| `fast@512` | 2 more | 1.000 |" in text


def test_the_chart_holds_numbers_only() -> None:
    text = markdown.chart(published.published())
    (body,) = re.findall(r"```mermaid\n(.*?)```", text, re.DOTALL)
    assert 'x-axis "depth, tokens of context" [1024, 8192, 32768]' in body
    assert body.count("line [") == 2
    assert "line [37.399, 12.596, 3.8181]" in body
    assert "blue: `stock`, orange: `splitkv`" in text
    assert not markdown.chart(simulated.summary(simulated.records())), "one depth is no course"


def test_foreign_text_changes_no_structure_anywhere() -> None:
    found = simulated.records(
        reason=HOSTILE, host=HOSTILE, caches={"policy": HOSTILE}, started_at=HOSTILE,
        environment={"engine.tensor_parallel": "2", f"version {HOSTILE}": HOSTILE},
        routes=(RouteCount(0, HOSTILE, {HOSTILE: HOSTILE}, 1),),
        kernels=(Kernel(0, HOSTILE, 1.0, 1.0),),
    )  # fmt: skip
    odd = (Difference(HOSTILE, {"stock": HOSTILE, "fast": HOSTILE}),)
    text = comment(found, run=HOSTILE, experiment=HOSTILE, declared_difference=odd)
    shown = rendered(text)
    assert "\x1b" not in text
    assert shown.count("<details>") == shown.count("</details>") == 2 - ("Flags:" not in text)
    outside = re.sub(r"<code.*?</code>", "", shown, flags=re.DOTALL)
    assert not re.search(r"<(script|img|a)\b|@\w+[^\d\w]|#\d", outside.replace("@512", ""))
    for table in tables(text):
        assert len({len(row) for row in table}) == 1


def test_a_comment_that_is_too_long_sheds_in_the_stated_order_and_says_so() -> None:
    whole = len(comment())
    text = comment(most=whole - 1)
    assert "Left out for length, in this order: pairs.\n" in text
    assert "#### Pairs" not in text
    assert "#### Rounds" in text
    small = comment(most=1800)
    assert len(small) <= 1800
    named = re.search(r"in this order: (.*)\.\n", small)
    assert named is not None
    assert tuple(named[1].split(", ")) == pullrequest.SHED[: len(named[1].split(", "))]
    assert "Run it again" in small


def test_no_run_is_too_large_for_the_forge() -> None:
    found = [
        replace(one, depth=depth)
        for depth in range(1, 400)
        for one in simulated.records(2, reason="y" * 5000, host="h" * 90_000)
    ]
    text = comment(found)
    assert len(text) <= pullrequest.MOST
    assert "rows more are left out for length" in text
    assert tables(text)[0][1][0] == "fast@1"


def test_several_candidates_and_batches_have_a_row_each_and_a_name() -> None:
    found = [
        replace(one, batch=batch, arm=arm)
        for batch in (1, 4)
        for one in simulated.records()
        for arm in ((one.arm,) if one.arm == "stock" else ("fast", "other"))
    ]
    declared = (Difference("file", {"stock": "k.py (md5 stock)", "fast": "k.py (md5 fast)"}),)
    summary = summarize(
        found,
        run="r",
        experiment="e",
        baseline="stock",
        arms=("stock", "fast", "other"),
        declared=declared,
    )
    text = markdown.render(summary)
    assert text.startswith("### `e`: `fast`, `other` against `stock`\n")
    head, *rows = tables(text)[0]
    assert head[2] == "candidate tok/s (ms)"
    assert [row[0] for row in rows] == ["fast@512", "other@512", "fast@512x4", "other@512x4"]
    assert "`other@512x4`" in text.splitlines()[2]


def test_a_headline_names_no_more_than_a_dozen() -> None:
    found = [replace(one, depth=depth) for depth in range(1, 20) for one in simulated.records()]
    assert re.search(r"\*\*Faster at 1 \(2.00x\), .* and 7 more\.\*\*", comment(found))

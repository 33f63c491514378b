"""What stands below the tables - gates, looks, noise floor, last controls - stands in every form for readers."""

from dataclasses import replace

import pytest

from abtest.model.control import ControlResult, LastControl, NoiseFloor, Outcome
from abtest.model.gate import Decision, Gate, GateResult, Look
from abtest.model.names import Cell, Condition
from abtest.model.result import Summary
from abtest.report import html, markdown, pullrequest, terminal
from abtest.report.html import Provenance
from abtest.report.origin import Origin
from abtest.report.quotes import Table, quotes
from abtest.report.verify import check_table
from abtest.report.view import view
from tests.report import test_published_table as published
from tests.report import test_pullrequest as comment

ORIGIN = Origin((), ("abtest", "run", "x"))
FLOOR = NoiseFloor(Condition(8192), 8, 1.001, 0.996, 1.006, 0.6, differs=False)
FOUND = ControlResult(
    Condition(8192), 6, 1.0, 1.0, 1.0, 12.5, 1.02, 0.93, 1.11, 0.95, Outcome.FOUND
)


def gate(depth: int, decision: Decision) -> GateResult:
    looks = (
        Look(4, 1.041, 0.98, 1.11, 0.0238),
        Look(6, 1.062, 1.051, 1.073, 0.0238, "its worst modes"),
    )
    asked = Gate.parse("splitkv@*>=1.05")
    why = "the lower limit of look 2 is above it"
    return GateResult(asked, Cell("splitkv", Condition(depth)), decision, looks, 6, None, why)


def whole(count: int = 1) -> Summary:
    return replace(
        published.published(),
        gates=(
            gate(8192, Decision.MET),
            *(gate(number, Decision.NOT_MET) for number in range(1, count)),
        ),
        looks=("look: 4 rounds of splitkv@8192 were suspect; 4 more",),
        last_controls=(
            LastControl("aa", "demo-aa-1", "2026-01-31T00:00:00Z", floor=(FLOOR,)),
            LastControl("control", "demo-control-1", "2026-01-31T01:00:00Z", control=(FOUND,)),
        ),
    )


WORDS = (
    "gate splitkv@*>=1.05 at splitkv@8192: met",
    "look 2 at n = 6: ratio 1.062, limits [1.051, 1.073], one-sided level 2.38 % per look; its worst modes",
    "at 5 % over all looks",
    "look: 4 rounds of splitkv@8192 were suspect; 4 more",
    "last A/A (the noise floor) for this image and kind of host: demo-aa-1, 2026-01-31T00:00:00Z",
    "noise floor at 8192, n = 8: 0.6 %",
    "last control (a planted slow-down) for this image and kind of host: demo-control-1",
    "control at 8192, n = 6: planted 1.00 ms per token",
)  # fmt: skip


def forms(summary: Summary) -> dict[str, str]:
    page = html.render(summary, (), (), Provenance((), None))
    return {
        "table": terminal.render(summary, width=200, color=False),
        "markdown": comment.rendered(markdown.render(summary)),
        "comment": comment.rendered(pullrequest.render(summary, (), ORIGIN)),
        "page": page,
    }


@pytest.mark.parametrize("form", ["table", "markdown", "comment", "page"])
def test_every_form_shows_gates_looks_and_controls(form: str) -> None:
    text = forms(whole())[form].replace("&gt;", ">").replace("&#34;", '"').replace("\u200b", "")
    for words in WORDS:
        assert words in " ".join(text.split()), words


@pytest.mark.parametrize("form", ["table", "markdown", "comment", "page"])
def test_nothing_is_said_where_nothing_was_asked(form: str) -> None:
    text = forms(published.published())[form]
    for words in ("Gates", "gate splitkv", "noise floor at", "Looks, noise"):
        assert words not in text


def test_the_markdown_below_the_tables() -> None:
    shown = view(whole(3))
    text = f"{markdown.gates(whole(3), shown)}\n{markdown.below(shown.footer)}"
    published.held("below.md", text)


def test_the_table_above_the_gates_is_verified_as_before() -> None:
    summary = whole()
    for text in (markdown.render(summary), pullrequest.render(summary, (), ORIGIN)):
        (table,) = quotes(text)
        assert isinstance(table, Table)
        assert list(check_table(published.published(), table)) == []
        altered = [one for one in quotes(text.replace("| n |", "| N |", 1))]  # noqa: C416 - read twice
        assert isinstance(altered[0], Table)
        assert list(check_table(summary, altered[0]))


def test_thousands_of_gates_leave_room_for_the_rest_and_are_all_counted() -> None:
    text = pullrequest.render(whole(3000), (), ORIGIN)
    assert len(text) <= pullrequest.MOST
    assert "**Gates: 1 met, 2999 not met.**" in text
    assert "lines more are left out for length" in text
    assert "Run it again" in text


def test_a_hostile_note_below_the_tables_stays_text() -> None:
    summary = replace(whole(), looks=(f"look: {comment.HOSTILE} <!-- ab: table x -->",))
    for text in (markdown.render(summary), pullrequest.render(summary, (), ORIGIN)):
        assert "<script>" not in comment.rendered(text)
        assert len(list(quotes(text))) == 1
    assert "<script>x" not in forms(summary)["page"]

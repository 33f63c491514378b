"""Charts over the conditions of a run: against depth, or against batch where only the batch varies."""

import re

import pytest

from abtest.analysis.points import points
from abtest.model.trial import TrialRecord
from abtest.report import condition_charts
from abtest.report.condition_charts import CLOCK, DEPTH, POWER, RATE, TIME, Axis, Quantity
from abtest.report.drawing import Chart
from tests.report.test_html import ARMS, batched, page, summary


def axis(found: list[TrialRecord]) -> Axis:
    return condition_charts.axis_of(points(found, ARMS))


def drawn(found: list[TrialRecord], quantity: Quantity, group: int) -> Chart:
    chart = condition_charts.draw(summary(found), points(found, ARMS), quantity, axis(found), group)
    assert chart is not None
    return chart


def labels(text: str) -> list[str]:
    return re.findall(r'aria-label="(\S[^"]* against [^"]*)"', text)


@pytest.mark.parametrize("quantity", [RATE, TIME, POWER, CLOCK])
@pytest.mark.parametrize("arm", ARMS)
def test_batches_at_one_depth_stand_along_x_in_their_order(quantity: Quantity, arm: str) -> None:
    chart = drawn(batched((8192,)), quantity, 8192)
    places = [
        [one.x for one in chart.marks if one.text[0].startswith(f"{arm}@{cell},")]
        for cell in ("8192", "8192x4", "8192x16")
    ]
    assert [len(one) for one in places] == [4, 4, 4]
    assert max(places[0]) < min(places[1])
    assert max(places[1]) < min(places[2])
    assert [tick.text for tick in chart.x_ticks] == ["1", "4", "16"]


def test_a_chart_over_batches_says_so_in_every_word() -> None:
    chart = drawn(batched((8192,)), RATE, 8192)
    assert chart.title == "Rate against batch"
    assert chart.x_title == "batch, sequences decoded together (log scale)"
    assert "fast@8192x16" in chart.summary
    assert "depth" not in f"{chart.title} {chart.x_title} {chart.summary}"


def test_slopes_are_drawn_over_depths_and_never_over_batches() -> None:
    found = batched((512, 8192), (1, 512))
    over_depths = drawn(found, TIME, 512)
    assert len(over_depths.curves) == len(ARMS)
    batch_axis = axis(batched((512,), (1, 512)))
    over_batches = condition_charts.draw(summary(found), points(found, ARMS), TIME, batch_axis, 512)
    assert over_batches is not None
    assert over_batches.title == "Time per token against batch"
    assert over_batches.curves == ()


def test_a_page_over_batches_has_one_chart_per_quantity() -> None:
    text = page(batched((8192,)))
    assert labels(text) == [
        f"{one} against batch" for one in ("Rate", "Time per token", "Power", "Clock")
    ]
    assert '<h2 id="h-speed">Speed against batch</h2>' in text
    assert '<p class="soft">All at depth 8192; a rate is that of one sequence. Each point' in text
    assert "against depth" not in text


def test_a_page_over_depths_has_charts_per_batch() -> None:
    text = page(batched((512, 8192), (1, 4)))
    assert labels(text) == [
        f"{one} against depth{batch}"
        for pair in (("Rate", "Time per token"), ("Power", "Clock"))
        for batch in ("", ", batch 4")
        for one in pair
    ]
    assert '<h2 id="h-speed">Speed against depth</h2>\n<p class="soft">Each point' in text
    assert "against batch" not in text


@pytest.mark.parametrize(("batch", "title"), [(1, ""), (4, ", batch 4")])
def test_one_depth_and_one_batch_are_drawn_against_depth(batch: int, title: str) -> None:
    found = batched((8192,), (batch,))
    assert axis(found) is DEPTH
    assert drawn(found, RATE, batch).title == f"Rate against depth{title}"
    assert drawn(found, RATE, batch).x_title == "depth, tokens in the KV cache (log scale)"


def test_a_run_without_a_rate_keeps_the_depth_as_its_axis() -> None:
    assert axis([]) is DEPTH

"""The HTML page in a real Chromium: what hovering and keys show, and that it stays quiet and at home."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Dialog, Page

from abtest.model.trial import Pair
from tests.report.test_html import ARMS, HOSTILE, batched, page, record, records

PHONE, DESK = {"width": 375, "height": 800}, {"width": 1200, "height": 900}


class Watched:
    """A page with everything that it said, asked for or got wrong."""

    def __init__(self, shown: Page) -> None:
        self.page = shown
        self.said: list[str] = []
        self.asked: list[str] = []
        shown.on("console", lambda message: self.said.append(message.text))
        shown.on("pageerror", lambda error: self.said.append(str(error)))
        shown.on("dialog", self._refuse)
        shown.on("request", lambda request: self.asked.append(request.url))

    def _refuse(self, dialog: Dialog) -> None:
        self.said.append("a dialog was opened")
        dialog.dismiss()

    def tip(self) -> str:
        return self.page.locator("#tip").inner_text()

    def hover(self, chart: str, place: int) -> str:
        mark = self.page.locator(f"#{chart} .mark").nth(place)
        mark.scroll_into_view_if_needed()
        box = mark.bounding_box()
        assert box is not None
        self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.page.locator("#tip:not([hidden])").wait_for()
        return self.tip()


Opener = Callable[..., AbstractContextManager[Watched]]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Opener:
    """Open a text as a page from a file."""

    @contextmanager
    def opener(
        text: str,
        *,
        size: dict[str, int] = DESK,
        scheme: Literal["light", "dark"] = "light",
        script: bool = True,
    ) -> Iterator[Watched]:
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": size["width"], "height": size["height"]},
            color_scheme=scheme,
            java_script_enabled=script,
            has_touch=size is PHONE,
        )
        context.set_offline(True)
        watched = Watched(context.new_page())
        watched.page.goto(path.as_uri())
        yield watched
        assert watched.said == []
        assert watched.asked == [path.as_uri()]
        context.close()

    return opener


def test_hovering_shows_the_trial(opened: Opener) -> None:
    odd = [
        record("fast", 3, 8192, flags=("jit-in-window",))
        if (one.arm, one.round, one.depth) == ("fast", 3, 8192)
        else one
        for one in records()
    ]
    with opened(page(odd)) as shown:
        lines = shown.hover("rate-1", 14).splitlines()
    assert lines == [
        "fast@8192, round 3",
        "99.4 tok/s, 10.06 ms per token",
        "by time stamps 99.4 tok/s",
        "slot 1 of its block, order 7 in the plan",
        "T8 1.000 s, T64 1.563 s (means of 2 pairs)",
        "leverage 1.8",
        "clock 1755 MHz, power 512.5 W",
        "flags: jit-in-window",
    ]


def test_hovering_over_a_small_point_shows_the_pair(opened: Opener) -> None:
    with opened(page(records())) as shown:
        assert shown.hover("cell-0", 1).splitlines() == [
            "stock@512, round 1, pair 2 of 2",
            "22.54 ms per token",
            "T8 1.000 s, T64 2.262 s, long one first",
        ]


def test_the_keyboard_walks_the_points_and_escape_closes(opened: Opener) -> None:
    with opened(page(records())) as shown:
        shown.page.locator("#rate-1 .mark").first.focus()
        assert shown.tip().startswith("stock@512, round 1")
        shown.page.keyboard.press("ArrowRight")
        assert shown.tip().startswith("stock@512, round 2")
        shown.page.keyboard.press("End")
        assert shown.tip().startswith("fast@8192, round 4")
        assert shown.page.locator("#rate-1 .mark[tabindex='0']").count() == 1
        shown.page.keyboard.press("Escape")
        assert shown.page.locator("#tip").is_hidden()


def test_a_screen_reader_hears_the_chart_and_each_point(opened: Opener) -> None:
    with opened(page(records())) as shown:
        chart = shown.page.get_by_role("group", name="Rate against depth")
        assert chart.count() == 1
        spoken = chart.get_by_role("img").first.get_attribute("aria-label") or ""
        assert spoken.startswith("stock@512, round 1; 44.4 tok/s")
        words = shown.page.locator("#rate-1-words").text_content() or ""
        assert "stock@512" in words
        assert "n = 4" in words
        headings = shown.page.get_by_role("heading", level=1)
        assert headings.count() == 1


def test_a_phone_scrolls_in_one_direction_only_and_a_tap_reads_a_point(opened: Opener) -> None:
    with opened(page(records()), size=PHONE) as shown:
        widths = shown.page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert widths[0] == widths[1]
        shown.page.locator("#time-1 .mark").last.tap(timeout=5000)
        assert shown.tip().startswith("fast@8192")
        tip = shown.page.locator("#tip").bounding_box()
        assert tip is not None
        assert 0 <= tip["x"] <= 375 - tip["width"]


def test_a_screen_reader_hears_that_a_chart_is_over_batches(opened: Opener) -> None:
    with opened(page(batched((8192,)))) as shown:
        assert shown.page.get_by_role("heading", name="Speed against batch").count() == 1
        chart = shown.page.get_by_role("group", name="Rate against batch", exact=True)
        assert chart.count() == 1
        words = shown.page.locator("#rate-8192-words").text_content() or ""
        assert "fast@8192x16" in words
        assert shown.hover("rate-8192", 0).startswith("stock@8192, round 1")


def test_a_desk_shows_the_table_of_cells_whole(opened: Opener) -> None:
    names = dict(zip(ARMS, ("singlepass", "splitkv"), strict=True))
    slow_start = (Pair(20.0, 20.6, "short"), Pair(20.0, 20.9, "long"))
    rows = [
        replace(one, arm=names[one.arm], pairs=slow_start)
        for one in batched((8192,))
        if one.round <= 2
    ]
    with opened(page(rows, tuple(names.values()))) as shown:
        cells = shown.page.get_by_role("region", name="Cells")
        assert "drowned, prefill-dominated, few-rounds" in cells.inner_text()
        assert cells.evaluate("one => one.scrollWidth - one.clientWidth") == 0


def test_dark_and_light_follow_the_system(opened: Opener) -> None:
    colours = []
    for scheme in ("light", "dark"):
        with opened(page(records()), scheme=scheme) as shown:
            colours.append(shown.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    light, dark = (sum(map(int, one.strip("rgb()").split(","))) for one in colours)
    assert light > 600
    assert dark < 200


def test_hostile_text_neither_runs_nor_becomes_markup(opened: Opener) -> None:
    odd = [*records(), record(HOSTILE, 1, 512), record("fast", 4, 512, flags=(HOSTILE,))]
    text = page([*odd[:-1]], (*ARMS, HOSTILE), run=HOSTILE, experiment=HOSTILE, started=HOSTILE)
    with opened(text) as shown:
        place = shown.page.locator("#rate-1 .mark").count() - 1
        for number in range(place + 1):
            shown.page.locator("#rate-1 .mark").nth(number).focus()
            assert shown.page.locator("#tip *:not(div)").count() == 0
        assert shown.page.locator("img, iframe").count() == 0
        assert shown.page.locator("script").count() == 1
        assert "<script>alert(1)" in shown.page.locator("h1").inner_text()


def test_without_its_script_the_page_still_says_everything(opened: Opener) -> None:
    with opened(page(records()), script=False) as shown:
        title = shown.page.locator("#rate-1 .mark title").first.text_content() or ""
    assert title.startswith("stock@512, round 1\n")


def test_a_planted_outside_request_and_an_error_are_seen(opened: Opener) -> None:
    """The checks above can fail: the page's own policy blocks, and the console tells of it."""
    text = page(records()).replace("</main>", '<img src="http://192.0.2.1/x.png" alt=""></main>')
    with pytest.raises(AssertionError), opened(text) as shown:
        shown.page.wait_for_load_state()

"""A headless Chromium for the tests of the HTML page; they skip where there is none, unless it is required."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
REQUIRE = "ABTEST_REQUIRE_CHROMIUM"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        if os.environ.get(REQUIRE) == "1":
            pytest.fail(f"{REQUIRE} is set and there is no Chromium")
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    # Chromium's own sandbox refuses to start for root, as whom containers and CI machines run
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=path, args=arguments)
        yield started
        started.close()

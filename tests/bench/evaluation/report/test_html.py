"""The report in a real Chromium: it asks nobody, complains about nothing, and can be read in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from adocd_bench.evaluation.report.write import report_of
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser

from tests.bench.evaluation.report.directory import written
from tests.page.browser import PATIENCE_MS, Watched
from tests.page.conftest import browser, pictures

__all__ = ["browser", "pictures"]

DRAWINGS = 13


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = written(tmp_path_factory.mktemp("html") / "DIR")
    (file,) = report_of([directory]).write(directory, "html")
    return file


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_in_a_browser(browser: Browser, pictures: Path, page_file: Path, colours: Literal["light", "dark"]) -> None:
    context = browser.new_context(color_scheme=colours, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page, watched = context.new_page(), Watched()
    watched.watch(page, page_file.parent.as_uri())
    page.goto(page_file.as_uri())
    assert page.locator("svg.drawing").count() == DRAWINGS
    assert page.get_by_role("img", name="cap-210-fillrandom: operations/s over time").is_visible()
    page.get_by_role("link", name="Five claims, point by point").click()
    assert page.get_by_role("heading", name="Five claims, point by point").is_visible()
    # The page itself is never wider than the window: what is wide scrolls within its frame.
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.screenshot(path=pictures / f"report-{colours}.png", full_page=True)
    violations: list[dict[str, Any]] = Axe().run(page).response["violations"]
    assert violations == []
    watched.is_content(websockets=False)
    context.close()


def test_it_brings_no_script_and_names_no_host(page_file: Path) -> None:
    text = page_file.read_text(encoding="utf-8")
    assert text.count('xmlns="http://www.w3.org/2000/svg"') == DRAWINGS
    assert "<script" not in text
    for outside in ("src=", "@import", "url(", "https://"):
        assert outside not in text
    assert text.count("http://") == text.count('xmlns="http://www.w3.org/2000/svg"')

"""What the page's own script does in a browser without a daemon: times of day, and clicks without a connection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from adocd.api.web import page as page_package
from tests.page.browser import PATIENCE_MS

STATIC = Path(page_package.__file__).parent / "static"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page, half a minute before midnight in UTC."""
    context = browser.new_context(locale="en-US", timezone_id="UTC")
    context.set_default_timeout(PATIENCE_MS)
    opened = context.new_page()
    opened.clock.install(time="2026-03-01T23:59:30Z")
    opened.set_content("<body></body>")
    opened.add_script_tag(path=STATIC / "page.js")
    yield opened
    context.close()


def shown(page: Page) -> str:
    return page.locator("local-time").inner_text()


def test_a_time_of_yesterday_gets_its_date_at_midnight(page: Page) -> None:
    page.evaluate("document.body.innerHTML = `<local-time unix='${Date.parse('2026-03-01T00:05:00Z') / 1000}'>`")
    assert shown(page) == "00:05:00", "not 24:05:00, nor with a date, for it is today"
    page.clock.run_for(60_000)
    assert shown(page) == "3/1/2026 00:05:00"


@pytest.mark.parametrize("script", ["page.js", "marks.js", "charts.js"])
def test_no_script_has_an_hour_24(script: str) -> None:
    words = (STATIC / script).read_text(encoding="utf-8")
    assert 'hourCycle: "h23"' in words
    assert "hour12" not in words


def test_what_is_confirmed_without_a_connection_is_not_kept_for_the_next_one(page: Page) -> None:
    page.evaluate(
        """() => {
            document.body.innerHTML = '<button class="confirm">Restore</button><button class="other">Cancel</button>';
            window.heard = [];
            document.querySelectorAll("button").forEach((each) => { each.onclick = () => heard.push(each.className); });
            window.press = (...names) => names.forEach((name) => document.querySelector(name).click());
            window.socket = { connected: false };
            adocd.tick(null, 0, Date.now() / 1000);
            press(".confirm", ".other");
            window.socket.connected = true;
            press(".confirm");
        }"""
    )
    assert page.evaluate("heard") == ["other", "confirm"]


def test_what_is_moved_keeps_the_focus(page: Page) -> None:
    page.evaluate(
        """() => {
            document.body.innerHTML = '<div><a href="#a" id="a">a</a><a href="#b" id="b">b</a></div>';
            const rows = document.querySelector("div");
            document.getElementById("b").focus();
            const refocus = adocd.focusWithin(rows);
            rows.insertBefore(document.getElementById("b"), document.getElementById("a"));
            refocus();
        }"""
    )
    assert page.evaluate("document.activeElement.id") == "b"

"""What the page's own script does in a browser without a daemon: times of day, and clicks without a connection."""

from __future__ import annotations

import itertools
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
        }"""
    )
    page.clock.run_for(300)
    page.evaluate("press('.confirm')")
    assert page.evaluate("heard") == ["other", "confirm"]


def test_what_is_confirmed_on_a_silent_connection_is_not_kept_until_it_speaks(page: Page) -> None:
    """The browser takes up to half a minute to notice that nothing comes through."""
    page.evaluate(
        """() => {
            document.body.innerHTML = '<div id="lost" hidden></div><button class="confirm">Restore</button>';
            window.heard = 0;
            document.querySelector("button").onclick = () => { heard += 1; };
            window.socket = { connected: true };
            adocd.name("2 databases: 2 flowing");
            adocd.tick(null, 0, Date.now() / 1000);
            document.querySelector("button").click();
        }"""
    )
    assert (page.evaluate("heard"), page.title()) == (1, "2 databases: 2 flowing")
    page.clock.run_for(3000)
    page.evaluate("document.querySelector('button').click()")
    assert (page.evaluate("heard"), page.title()) == (1, "? not live: 2 databases: 2 flowing")
    page.evaluate("adocd.tick(null, 0, Date.now() / 1000)")
    page.evaluate("document.querySelector('button').click()")
    assert (page.evaluate("heard"), page.title()) == (2, "2 databases: 2 flowing")
    page.evaluate("adocd.tick('it hangs', 5, Date.now() / 1000)")
    assert page.title() == "? not live: 2 databases: 2 flowing"


def test_a_connection_that_takes_long_is_tried_again_and_the_page_not_loaded_anew(page: Page) -> None:
    page.evaluate(
        """() => {
            window.passed = [];
            const heard = [(error) => passed.push(error.message)];
            window.socket = {
                connected: true,
                listeners: () => heard,
                off: (_, gone) => heard.splice(heard.indexOf(gone), 1),
                on: (_, one) => heard.push(one),
            };
            adocd.tick(null, 0, Date.now() / 1000);
            adocd.tick(null, 0, Date.now() / 1000);
            ["timeout", "Implicit handshake failed"].forEach((message) => heard.forEach((each) => each({ message })));
        }"""
    )
    assert page.evaluate("passed") == ["Implicit handshake failed"]


def test_the_time_for_which_writers_were_held_is_drawn_where_it_was(page: Page) -> None:
    """A row is about the second before it; after a row without columns nothing was measured."""
    for script in ("units.js", "marks.js", "charts.js"):
        page.add_script_tag(path=STATIC / script)
    drawn = page.evaluate(
        """() => {
            const rows = [];
            for (let s = 1001; s <= 1900; s += 1) {
                if (s === 1301) rows.push([1_300_001]);
                if (s <= 1300 || s > 1600) rows.push([s * 1000, s > 1062 && s <= 1068 ? 1 : 0]);
            }
            Object.assign(adocd.state, { rows, range: { from: 1000, to: 1900 }, spec: { columns: ["held"] } });
            return adocd.averages("held");
        }"""
    )
    assert [at for at, share in drawn if share] == [1_068_000]
    assert [before for before, after in itertools.pairwise(drawn) if after[1]] == [[1_062_000, 0]]
    first, last = [n for n, (_, share) in enumerate(drawn) if share is None]
    assert [at for at, _ in drawn[first - 1 : last + 2]] == [1_302_000, 1_302_001, 1_596_000, 1_596_000]


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

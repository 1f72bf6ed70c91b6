"""Recorded incidents in the page: what an operator reads first is what happened. Their pictures are test artefacts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import REPOSITORY
from tests.page.browser import Watched, drawn, open_page
from tests.page.incidents.replay import INCIDENTS, replayed

PICTURES = REPOSITORY / ".cache" / "page-pictures"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}
#: By incident: what is said in the state, in the verdict, and elsewhere on the page.
WORDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "stall": (
        "Writes are held", "The tuner is not acting",
        (
            "dry run", "To let it act", "none, for nothing was changed", "What would likely help",
            "The longest, numbered in the charts",
        ),
    ),
    "bad-law": (
        "Writes are held", "The manual policy hurts",
        ("level0 slowdown trigger", "level-0 files", "Undo it first. Restore the originals"),
    ),
    "lost-agent": ("Its agent does not answer", "", ("Policy adoc", "ps -o pid,stat", "in its last minute, until")),
    "pinned-option": (
        "Writes", "The pin", ("Pinned: write_buffer_size = 2 MiB", "a bulk load", "in force"),
    ),
}  # fmt: skip
#: The tallest page of a phone, in pixels.
TALLEST = 5000


@pytest.fixture(scope="module")
def places() -> Path:
    """Where the pictures go."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES


def test_each_incident_has_its_words() -> None:
    assert set(WORDS) == set(INCIDENTS)


@pytest.mark.parametrize("name", list(WORDS))
def test_the_page_says_what_happened(browser: Browser, places: Path, name: str) -> None:
    state, verdict, elsewhere = WORDS[name]
    watched = Watched()
    with replayed(name) as at:
        link = ""
        for look, settings in LOOKS.items():
            context, page = open_page(browser, watched, at, **settings)
            if not link:  # the list in its other looks is test_operator's
                page.goto(at.url)
                page.locator("a.glance").first.wait_for()
                page.screenshot(path=places / f"{name}-{look}-all.png")
                page.locator("a.glance").first.click()
                page.wait_for_url("**/page/target/*")
                link = page.url
            else:
                page.goto(link)
            drawn(page, 20)
            expect(page.locator(".state h2")).to_contain_text(state)
            expect(page.locator(".verdict h2")).to_contain_text(verdict)
            for words in elsewhere:
                expect(page.get_by_text(words).first).to_be_attached()
            page.screenshot(path=places / f"{name}-{look}.png", full_page=True)
            if look == "phone":
                assert page.evaluate("document.documentElement.scrollHeight") <= TALLEST
            context.close()
    watched.is_content()


def test_a_time_that_is_dragged_over_is_kept_in_the_link(browser: Browser) -> None:
    watched = Watched()
    with replayed("stall") as at:
        context, page = open_page(browser, watched, at, **LOOKS["light"])
        page.goto(at.url)
        page.locator("a.glance").first.click()
        drawn(page, 30)
        assert (
            page.evaluate(
                "new Set(adocd.state.spec.charts.map((c) => getElement(adocd.state.ids[c.key]).chart.group)).size"
            )
            == 1
        )
        begin, end = page.evaluate("adocd.marking.shown()")
        assert begin >= page.evaluate("adocd.state.rows[0][0]") - 30_000, (
            "from the first second, not from an empty past"
        )
        box = page.locator("[aria-labelledby=chart-writes] canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 150, box["y"] + 90)
        expect(page.locator(".readout.at").first).to_be_visible()
        page.mouse.down()
        page.mouse.move(box["x"] + 260, box["y"] + 100, steps=5)
        page.mouse.up()
        page.wait_for_url("**from=*to=*")
        link = page.url
        page.goto("about:blank")
        page.goto(link)
        drawn(page)
        shown = page.evaluate("adocd.marking.shown()")
        assert begin <= shown[0] < shown[1] <= end
        page.get_by_role("button", name="15 min", exact=True).click()
        page.wait_for_function("!location.search")
        page.goto(f"{page.url}?from=4000000000&to=4000000060")
        page.get_by_text("nothing was measured in this time").wait_for()
        assert page.evaluate("adocd.state.rows") == []
        context.close()
    watched.is_content()

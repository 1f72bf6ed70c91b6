"""The rows of the list in a browser: the focus goes with its row when the order changes."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.page.browser import Watched, open_page, site
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase


def test_a_row_that_moves_keeps_the_focus(browser: Browser, run_dir: Path) -> None:
    # Of two that change places, a browser's script may move the other one.
    first, *others = (FakeDatabase(run_dir / name) for name in "abc")
    agent = FakeAgent(run_dir, [first, *others])
    moved = f"target-{agent.id_of(first)}"
    watched = Watched()
    with agent, site(run_dir) as at:
        context, page = open_page(browser, watched, at)
        page.goto(at.url)
        expect(page.locator("a.glance")).to_have_count(3)
        expect(page.locator("a.glance").first).to_have_id(moved)
        page.locator(f"#{moved}").focus()
        agent.remove(first)  # a closed database comes last
        expect(page.locator("a.glance").last).to_have_id(moved)
        expect(page.locator(f"#{moved}")).to_be_focused()
        context.close()
    watched.is_content()

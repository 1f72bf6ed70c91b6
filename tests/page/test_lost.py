"""What the page says when it has lost its daemon, or its own process: at once, and until it is there again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.browser import Site, Watched, db_bench, drawn, open_page, serious, site, web_process
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase


@pytest.fixture
def night(run_dir: Path) -> Iterator[Site]:
    """A daemon with a page that a database can be seen on."""
    with site(run_dir) as at, db_bench(run_dir):
        at.target()
        yield at


def is_stale(page: Page) -> bool:
    return bool(page.evaluate("document.body.classList.contains('stale')"))


def test_a_daemon_that_does_not_answer_is_said_with_the_age_of_the_figures(browser: Browser, night: Site) -> None:
    context, page = open_page(browser, Watched(), night)
    page.goto(f"{night.url}/page/target/{night.target()}")
    drawn(page)
    banner = page.get_by_role("alert").filter(has_text="What you see is")
    expect(banner).to_be_hidden(timeout=60_000)
    os.kill(night.daemon_pid, signal.SIGSTOP)
    try:
        banner.filter(has_text="The daemon does not answer").wait_for()
        assert is_stale(page)
        assert serious(page) == []
    finally:
        os.kill(night.daemon_pid, signal.SIGCONT)
    expect(banner).to_be_hidden(timeout=60_000)
    assert not is_stale(page)
    context.close()


def test_a_target_that_is_not_there_is_said_and_nothing_else_is_shown(browser: Browser, run_dir: Path) -> None:
    with site(run_dir) as at:
        context, page = open_page(browser, Watched(), at)
        page.goto(f"{at.url}/page/target/0123456789abcdef")
        page.get_by_text("There is no target 0123456789abcdef.").wait_for()
        for what in (page.get_by_role("button", name="Restore originals"), page.locator("canvas"), page.locator("h2")):
            expect(what.locator("visible=true")).to_have_count(0)
        expect(page).to_have_title("No such target - adocd")
        page.locator("#main").get_by_role("link", name="All databases").click()
        page.wait_for_url(f"{at.url}/page/")
        context.close()


def test_a_target_that_comes_later_is_shown_whole(browser: Browser, run_dir: Path) -> None:
    """A bookmark may be opened before its database is."""
    database = FakeDatabase(run_dir / "db")
    with FakeAgent(run_dir) as agent:
        target = agent.id_of(database)
    with site(run_dir) as at:
        context, page = open_page(browser, Watched(), at)
        page.goto(f"{at.url}/page/target/{target}")
        page.get_by_text(f"There is no target {target}.").wait_for()
        with FakeAgent(run_dir, [database]):
            drawn(page)
            expect(page.get_by_role("button", name="Restore originals")).to_be_visible()
        context.close()


def test_a_page_whose_process_is_killed_says_so_and_comes_back_by_itself(browser: Browser, night: Site) -> None:
    context, page = open_page(browser, Watched(), night)
    page.goto(f"{night.url}/page/target/{night.target()}")
    drawn(page)
    page.evaluate("document.body.dataset.before = 'yes'")
    killed = web_process(night)
    killed.kill()
    page.get_by_role("alert").filter(has_text="Connection to adocd's page lost").wait_for()
    # Another process knows nothing of this page: the browser loads it anew.
    page.wait_for_function("document.body && document.body.dataset.before === undefined")
    drawn(page)
    expect(page.locator("#lost")).to_be_hidden(timeout=60_000)
    assert web_process(night).pid != killed.pid
    context.close()

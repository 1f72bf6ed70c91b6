"""What the page says when it has lost its daemon, or its own process: at once, and until it is there again."""

from __future__ import annotations

import os
import signal

from playwright.sync_api import Browser, Page, expect

from tests.page.browser import Site, Watched, drawn, open_page, serious, web_process
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase


def is_stale(page: Page) -> bool:
    return bool(page.evaluate("document.body.classList.contains('stale')"))


def told_anew(page: Page) -> dict[str, object]:
    """Look at the banner until the age in it has changed: whether it has, and how often what is read out has."""
    found: dict[str, object] = page.evaluate(
        """() => new Promise((done) => {
            const banner = document.getElementById("lost");
            const isAge = (node) => Boolean((node.closest ? node : node.parentElement)?.closest("[aria-hidden=true]"));
            let words = 0, aged = false;
            const finish = () => { watcher.disconnect(); done({ aged, words }); };
            const watcher = new MutationObserver((changes) => {
                for (const each of changes) {
                    if (isAge(each.target)) aged = true;
                    else words += 1;
                }
                if (aged) setTimeout(finish, 500);
            });
            watcher.observe(banner, { childList: true, characterData: true, attributes: true, subtree: true });
            setTimeout(finish, 30_000);
        })"""
    )
    return found


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
        assert told_anew(page) == {"aged": True, "words": 0}, "screen readers would say the words again and again"
    finally:
        os.kill(night.daemon_pid, signal.SIGCONT)
    expect(banner).to_be_hidden(timeout=60_000)
    assert not is_stale(page)
    context.close()


def test_a_target_that_is_not_there_is_said_and_nothing_else_is_shown(browser: Browser, night: Site) -> None:
    context, page = open_page(browser, Watched(), night)
    page.goto(f"{night.url}/page/target/0123456789abcdef")
    page.get_by_text("There is no target 0123456789abcdef.").wait_for()
    for what in (page.get_by_role("button", name="Restore originals"), page.locator("canvas"), page.locator("h2")):
        expect(what.locator("visible=true")).to_have_count(0)
    expect(page).to_have_title("No such target - adocd")
    page.locator("#main").get_by_role("link", name="All databases").click()
    page.wait_for_url(f"{night.url}/page/")
    context.close()


def test_a_target_that_comes_later_is_shown_whole(browser: Browser, night: Site) -> None:
    """A bookmark may be opened before its database is."""
    database = FakeDatabase(night.run_dir / "later")
    agent = FakeAgent(night.run_dir, [database])
    target = agent.id_of(database)
    context, page = open_page(browser, Watched(), night)
    page.goto(f"{night.url}/page/target/{target}")
    page.get_by_text(f"There is no target {target}.").wait_for()
    with agent:
        drawn(page)
        expect(page.get_by_role("button", name="Restore originals")).to_be_visible()
    context.close()


def test_a_page_whose_process_is_killed_says_so_and_comes_back_by_itself(browser: Browser, night: Site) -> None:
    context, page = open_page(browser, Watched(), night)
    page.goto(f"{night.url}/page/target/{night.target()}")
    drawn(page)
    page.evaluate("document.body.dataset.before = 'yes'")
    killed = web_process(night)
    # A daemon that runs starts the next one at once, and a browser may load that before anybody has seen the banner.
    os.kill(night.daemon_pid, signal.SIGSTOP)
    try:
        killed.kill()
        page.get_by_role("alert").filter(has_text="Connection to adocd's page lost").wait_for()
    finally:
        os.kill(night.daemon_pid, signal.SIGCONT)
    # Another process knows nothing of this page: the browser loads it anew.
    page.wait_for_function("document.body && document.body.dataset.before === undefined")
    drawn(page)
    expect(page.locator("#lost")).to_be_hidden(timeout=60_000)
    assert web_process(night).pid != killed.pid
    context.close()

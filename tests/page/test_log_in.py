"""Logging in: with the keyboard alone at the second attempt, and by the door to one database's page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.page.browser import Watched, drawn, open_page, site
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase


def test_a_wrong_token_is_followed_by_the_right_one_without_a_mouse(browser: Browser, run_dir: Path) -> None:
    with site(run_dir) as at:
        context, page = open_page(browser, Watched(), at)
        page.goto(at.url)
        page.get_by_role("button", name="Log in").press("Enter")
        secret = page.get_by_role("dialog").get_by_role("textbox", name="Token")
        expect(secret).to_be_focused()
        page.keyboard.type("adocd_wrong")
        page.keyboard.press("Enter")
        page.get_by_role("alert").get_by_text("this is no token, or it has expired").wait_for()
        expect(secret).to_have_value("")
        expect(secret).to_be_focused()
        page.keyboard.type(at.token)
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Log out").wait_for()
        context.close()


def test_who_comes_by_a_link_and_the_door_can_set_a_laws_parameters(browser: Browser, run_dir: Path) -> None:
    """Nobody has had the page open yet, so whatever an open page would have read before is not known here."""
    configuration = run_dir / "adocd.toml"
    configuration.write_text("[web]\nanonymous_read = false\n")
    serve = ("--config", str(configuration), "--policy", "adoc", "--set", "threads_max=6")
    with FakeAgent(run_dir, [FakeDatabase(run_dir / "db")]), site(run_dir, *serve) as at:
        context, page = open_page(browser, Watched(), at)
        page.goto(f"{at.url}/page/target/{at.target()}")
        page.get_by_label("Token").fill(at.token)
        page.get_by_role("button", name="Log in").click()
        drawn(page)
        page.get_by_role("button", name="Set policy…").click()
        expect(page.get_by_role("dialog").get_by_label("threads_max")).to_have_value("6")
        context.close()

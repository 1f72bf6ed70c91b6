"""Logging in with the keyboard alone, at the second attempt."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.page.browser import Watched, open_page, site


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

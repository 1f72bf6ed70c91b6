"""An operator at work on the page, in a real browser: every control is used once, and its effect seen through REST.

Alone: a browser that shares two busy cores with other tests may lose its connection, and with it an open dialog.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from tests.page.browser import MIB, Site, Watched, drawn, log_in, open_page, serious
from tests.support.waiting import eventually

pytestmark = pytest.mark.alone

WIDE = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Nothing the browser complains of, and nobody else it asks, in any test."""
    found = Watched()
    yield found
    found.is_content()


def confirm(page: Page, button: str, confirm_by: str) -> None:
    """Press a button of the page, and the one that confirms."""
    page.get_by_role("main").get_by_role("button", name=button, exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=confirm_by, exact=True).click()
    expect(dialog).to_be_hidden()


def told(page: Page) -> dict[str, float]:
    """The box of what was just done, which is shown for some seconds only: so it is read in the page, when it comes."""
    shown = page.wait_for_function(
        """() => {
            const boxes = [...document.querySelectorAll(".said")].map((each) => each.getBoundingClientRect());
            return boxes.find((box) => box.width > 0 && box.height > 0)?.toJSON();
        }"""
    )
    box: dict[str, float] = shown.json_value()
    return box


def overlap(a: dict[str, float], b: FloatRect) -> bool:
    """Whether one box covers a part of the other."""
    return (
        a["x"] < b["x"] + b["width"] and b["x"] < a["x"] + a["width"]
        and a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"]
    )  # fmt: skip


def choose(page: Page, dialog: Locator, field: str, value: str) -> None:
    """Choose from a list that can be typed into."""
    dialog.get_by_role("combobox", name=field).click()
    page.get_by_role("option", name=value, exact=True).click()


def test_every_control_does_what_it_says(browser: Browser, night: Site, watched: Watched) -> None:  # noqa: PLR0915
    context, page = open_page(browser, watched, night, viewport=WIDE)
    path = f"/v1/targets/{night.target()}"
    page.goto(night.url)
    page.get_by_text("You can read everything here, and change nothing").wait_for()
    expect(page.get_by_role("button", name="Pause all")).to_be_disabled()
    log_in(page, night.token)

    # All of them at once.
    confirm(page, "Pause all", "Pause all")
    eventually(lambda: night.detail()["paused"])
    assert "token night" in night.detail()["paused"]
    page.get_by_role("main").get_by_text("paused", exact=True).wait_for()
    confirm(page, "Resume all", "Resume all")
    eventually(lambda: night.detail()["paused"] is None)

    # One target, by the keyboard.
    row = page.locator("a.glance").first
    row.focus()
    page.keyboard.press("Enter")
    drawn(page)
    page.get_by_role("heading", name="The tuner is not acting").wait_for()
    page.wait_for_function("/(flowing|held|still).*db - adocd$/.test(document.title)")

    # The policy: first what it would change, then setting it.
    page.get_by_role("button", name="Set policy…").click()
    dialog = page.get_by_role("dialog")
    choose(page, dialog, "Law", "adoc")
    dialog.get_by_text("from 1 to 128; default 20").wait_for()
    dialog.get_by_label("threads_max").fill("600")
    dialog.get_by_role("button", name="Set it").click()
    dialog.get_by_text("threads_max").filter(has_text="128").last.wait_for()
    assert night.detail()["policy"]["controller"] == "fixed", "it was refused"
    dialog.get_by_label("threads_max").fill("6")
    dialog.get_by_role("button", name="Show what would change").click()
    difference = dialog.get_by_text("controller: fixed → adoc")
    difference.wait_for()
    dialog.get_by_label("threads_max").fill("7")
    expect(difference).to_be_hidden()  # it was of another value
    dialog.get_by_label("threads_max").fill("6")
    assert night.detail()["policy"]["controller"] == "fixed"
    dialog.get_by_role("button", name="Set it").click()
    corner = told(page)
    expect(dialog).to_be_hidden()
    eventually(lambda: night.detail()["policy"]["controller"] == "adoc")
    assert night.detail()["policy"]["parameters"] == {"threads_max": 6}

    # A pin with an expiry, refused by a guard, then taken, then removed.
    page.get_by_role("button", name="Pin an option…").click()
    dialog.get_by_label("Value").wait_for()
    opened = dialog.locator(".dialog").bounding_box()
    assert opened is not None
    assert not overlap(corner, opened), "what was just done is told beside the dialog"
    choose(page, dialog, "Option", "write_buffer_size")
    dialog.get_by_label("Value").fill("1 KiB")
    dialog.get_by_role("button", name="Pin it").click()
    dialog.get_by_text("Bounds:").wait_for()
    dialog.get_by_label("Value").fill("3 MiB")
    choose(page, dialog, "For", "10 minutes")
    dialog.get_by_label("Reason").fill("a bulk load")
    dialog.get_by_role("button", name="Pin it").click()
    (pin,) = eventually(lambda: night.call("GET", f"{path}/overrides")["overrides"])
    assert (pin["option"], pin["value"], pin["reason"]) == ("write_buffer_size", str(3 * MIB), "a bulk load")
    assert 0 < pin["remaining_s"] <= 600
    page.get_by_text("in force", exact=True).wait_for()
    page.get_by_role("button", name="Remove the pin of write_buffer_size").click()
    dialog.get_by_role("button", name="Remove it").click()
    eventually(lambda: not night.call("GET", f"{path}/overrides")["overrides"])

    # Stop it in one move; then give everything back.
    page.get_by_role("button", name="Pause", exact=True).click()
    dialog.get_by_label("Reason").fill("looking")
    dialog.get_by_role("button", name="Pause", exact=True).click()
    eventually(lambda: "looking" in (night.detail()["paused"] or ""))
    page.get_by_role("button", name="Resume", exact=True).click()
    dialog.get_by_role("button", name="Resume", exact=True).click()
    eventually(lambda: night.detail()["paused"] is None)
    expect(dialog).to_be_hidden()  # what is opened while this one closes is closed with it
    confirm(page, "Restore originals", "Restore originals")
    eventually(lambda: night.detail()["paused"])
    confirm(page, "Resume", "Resume")
    confirm(page, "Reset policy", "Reset it")
    eventually(lambda: night.detail()["policy"]["controller"] == "fixed")

    # Who did it is in the audit trail, on the page and by REST.
    done = [each["what"] for each in night.call("GET", "/v1/operations")["operations"]]
    assert {"set-policy", "reset-policy", "pin", "unpin", "pause", "resume", "restore"} <= set(done)
    page.get_by_role("cell", name="reset-policy").first.wait_for()
    page.get_by_role("cell", name="token night").first.wait_for()

    # Every range can be looked at.
    for name in ("1 h", "6 h", "24 h", "15 min"):
        page.get_by_role("button", name=name, exact=True).click()
        page.wait_for_function(
            f"adocd.state.range.spanS === {({'15 min': 900, '1 h': 3600, '6 h': 21600, '24 h': 86400})[name]}"
        )
    page.get_by_role("link", name="All databases").click()
    confirm(page, "Restore all", "Restore all")
    eventually(lambda: night.detail()["paused"])
    confirm(page, "Resume all", "Resume all")
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="Log in").wait_for()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_by_everybody_in_both_colours(
    browser: Browser, night: Site, watched: Watched, pictures: Path, scheme: Any
) -> None:
    context, page = open_page(browser, watched, night, viewport=WIDE, color_scheme=scheme)
    page.goto(night.url)
    log_in(page, night.token)
    page.locator("a.glance").first.wait_for()
    assert page.evaluate("document.body.classList.contains('body--dark')") == (scheme == "dark")
    assert serious(page) == []
    page.screenshot(path=pictures / f"all-{scheme}.png")
    page.locator("a.glance").first.click()
    drawn(page, 5)
    assert serious(page) == []
    page.screenshot(path=pictures / f"target-{scheme}.png", full_page=True)
    for button in ("Set policy…", "Pin an option…", "Restore originals"):
        page.get_by_role("button", name=button).click()
        page.get_by_role("dialog").wait_for()
        if scheme == "dark":  # the contrast of their colours is lower there
            assert serious(page) == []
        page.screenshot(path=pictures / f"{button.split()[0].lower()}-{scheme}.png")
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog")).to_be_hidden()
    # The switch beats the system, and is kept.
    other = "Light" if scheme == "dark" else "Dark"
    page.get_by_role("button", name=other, exact=True).click()
    page.wait_for_function(f"document.body?.classList.contains('body--{other.lower()}')")
    page.reload()
    page.wait_for_function(f"document.body?.classList.contains('body--{other.lower()}')")
    context.close()


def test_a_phone_has_one_column_and_nothing_beside_it(
    browser: Browser, night: Site, watched: Watched, pictures: Path
) -> None:
    context, page = open_page(browser, watched, night, viewport=PHONE, has_touch=True, is_mobile=True)
    page.goto(f"{night.url}/page/target/{night.target()}")
    drawn(page, 5)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    lefts = page.evaluate(
        "[...document.querySelectorAll('.chart')].map((e) => Math.round(e.getBoundingClientRect().x))"
    )
    assert len(lefts) >= 5
    assert len(set(lefts)) == 1
    assert serious(page) == []
    page.screenshot(path=pictures / "target-phone.png", full_page=True)
    page.goto(night.url)
    page.locator("a.glance").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.screenshot(path=pictures / "all-phone.png")
    context.close()

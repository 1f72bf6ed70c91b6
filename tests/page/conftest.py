"""A Chromium for the tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.conftest import REPOSITORY

#: Pictures for a person to look at; made anew by each run.
PICTURES = REPOSITORY / ".cache" / "page"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium; root needs --no-sandbox.

    For a module alone: while it is there its event loop runs in this thread, and no other test could have one.
    """
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where pictures go."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES

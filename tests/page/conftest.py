"""A Chromium for the tests of the page."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.conftest import REPOSITORY
from tests.page.browser import Site, db_bench, site

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


@pytest.fixture(scope="module")
def night() -> Iterator[Site]:
    """A daemon with a page and a database that is written; each test leaves them running."""
    with tempfile.TemporaryDirectory(prefix="adocd-") as directory:
        run_dir = Path(directory)
        with site(run_dir) as at, db_bench(run_dir):
            at.target()
            yield at


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where pictures go."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES

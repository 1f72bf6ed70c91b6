"""What several tests of the command line share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.harness import quickly_serving, wait_for_target
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase


@pytest.fixture(scope="module")
def served() -> Iterator[Path]:
    """A run directory with a daemon and one database, for tests that change nothing there."""
    with tempfile.TemporaryDirectory(prefix="adocd-") as made:
        directory = Path(made)
        with FakeAgent(directory, [FakeDatabase(directory / "db")]), quickly_serving(directory):
            wait_for_target(directory)
            yield directory

"""A book's file, and its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.book.runs import Time


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite"

"""A daemon for the tests of a module that leave it alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adocd.daemon.book import book
from tests.api.harness import Run, shared_service
from tests.daemon.harness import overflowing
from tests.support.waiting import PATIENCE_S


@pytest.fixture(autouse=True)
def _patient_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the journal time to answer: on a busy machine a commit can take longer than operators wait for it."""
    monkeypatch.setattr(book, "_TOLD_WITHIN_S", PATIENCE_S)


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run what only reads, or is refused, against one daemon: starting it takes longer than most of these tests."""
    directory = tmp_path_factory.mktemp("left_alone")
    with shared_service(directory, overflowing(directory / "db")) as run:
        yield run

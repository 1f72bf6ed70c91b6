"""A daemon for the tests of a module that leave it alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.harness import Run, shared_service
from tests.daemon.conftest import patient_answers
from tests.daemon.harness import overflowing

__all__ = ["left_alone", "patient_answers"]


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run what only reads, or is refused, against one daemon: starting it takes longer than most of these tests."""
    directory = tmp_path_factory.mktemp("left_alone")
    with shared_service(directory, overflowing(directory / "db")) as run:
        yield run

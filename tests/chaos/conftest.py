"""What the chaos tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chaos.figures import Figures


@pytest.fixture(scope="session")
def figures() -> Iterator[Figures]:
    """Collect what is measured, and print it when the last test is done."""
    collected = Figures()
    yield collected
    print(f"\n{collected.text()}")

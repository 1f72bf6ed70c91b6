"""What the tests of bench share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from adocd_bench.run.workspace import choose_parent


@pytest.fixture
def disk() -> Iterator[Path]:
    """Give a fresh directory on a real disk where there is one; /tmp may be in memory."""
    with tempfile.TemporaryDirectory(prefix="adocd-test-", dir=choose_parent(None, 100_000_000)) as directory:
        yield Path(directory)

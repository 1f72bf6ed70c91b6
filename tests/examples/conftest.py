"""What the examples run in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.examples.systemd import CannotBoot, Systemd, booted


@pytest.fixture
def systemd() -> Iterator[Systemd]:
    """Boot a systemd; skip, with the reason, where none can be."""
    try:
        with booted() as running:
            yield running
    except CannotBoot as error:
        pytest.skip(f"no systemd can be booted here: {error}")

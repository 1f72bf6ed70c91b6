"""Fixtures of the loop's tests."""

import pytest

from adocd.controllers.adoc import Adoc


@pytest.fixture(autouse=True)
def _quick_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call the law at every tick, so that tests need not wait for its second."""
    monkeypatch.setattr(Adoc, "period_s", 0.05)

"""Fixtures of the loop's tests."""

import pytest

from adocd.controllers.adoc import Adoc
from adocd.daemon.book import book
from tests.support.waiting import PATIENCE_S


@pytest.fixture(autouse=True)
def _quick_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call the law at every tick, so that tests need not wait for its second."""
    monkeypatch.setattr(Adoc, "period_s", 0.05)


@pytest.fixture(autouse=True)
def patient_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the journal time to answer: on a busy machine a commit can take longer than operators wait for it."""
    monkeypatch.setattr(book, "_TOLD_WITHIN_S", PATIENCE_S)

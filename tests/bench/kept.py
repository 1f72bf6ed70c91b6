"""The raw results that the documentation rests on."""

from __future__ import annotations

import pytest

from tests.conftest import REPOSITORY

RESULTS = REPOSITORY / "bench" / "results"
#: They are in the repository and in no archive.
needs_results = pytest.mark.skipif(
    (REPOSITORY / "PKG-INFO").exists() and not RESULTS.exists(), reason="a source archive has no raw results"
)

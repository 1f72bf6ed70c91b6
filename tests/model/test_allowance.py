"""An allowance in one sentence, as operators read it."""

from __future__ import annotations

import pytest

from adocd.model.allowance import Allowance

MB = 1_000_000


@pytest.mark.parametrize(
    ("allowance", "words"),
    [
        (
            Allowance(1, 0.5, 0.5, None, 1, None),
            "it shares its disks with 1 other database and may count on 50 %, as none of them wants more than it gets",
        ),
        (
            Allowance(4, 0.6, 0.2, 60.0 * MB, 1, None, is_scarce=True, width=2, waiting=3),
            "it shares its disks with 4 other databases and may count on 60 % (in the long run 60 MB/s), "
            "as one of them wants more than is left; it should write with 2 threads "
            "at most, because 3 wait and use less than their share",
        ),
        (
            Allowance(4, 0.6, 0.2, 60.0 * MB, 1, None, is_scarce=True, width=1, waiting=1),
            "it shares its disks with 4 other databases and may count on 60 % (in the long run 60 MB/s), "
            "as one of them wants more than is left; it should write with 1 thread "
            "at most, because one waits and uses less than its share",
        ),
    ],
)
def test_in_words(allowance: Allowance, words: str) -> None:
    assert allowance.in_words() == words

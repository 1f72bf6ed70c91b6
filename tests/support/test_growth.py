"""The judge of growth: what grows by the square is found, what does not is left alone."""

from __future__ import annotations

import pytest

from tests.support.growth import grows_with_the_work


def by_the_square(size: int) -> int:
    return sum(1 for _ in range(size * size))


def test_the_square_is_found() -> None:
    with pytest.raises(AssertionError, match=r"4 times the work takes [1-9][0-9]\."):
        grows_with_the_work(by_the_square, 500)


def test_what_grows_with_the_work_or_not_at_all_is_left_alone() -> None:
    grows_with_the_work(lambda size: sum(1 for _ in range(size)), 500_000)
    grows_with_the_work(lambda size: size, 500)

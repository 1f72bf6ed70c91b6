"""Which target a name means."""

from __future__ import annotations

import pytest

from adocd.targets.names import named

OPEN, CLOSED, NEXT = ("db12000000000001", "/data/other"), ("0f00000000000002", "/data/db"), ("db34000000000003", "/x/y")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("db12000000000001", [OPEN]),
        ("/data/db", [CLOSED]),
        ("db1", [OPEN]),
        ("other", [OPEN]),
        ("data/other", [OPEN]),
        ("0", [CLOSED]),
        ("a", []),
        ("", []),
    ],
)
def test_a_name_is_an_id_or_its_beginning_or_a_path_or_its_end(name: str, meant: list[tuple[str, str]]) -> None:
    assert named(name, (OPEN, CLOSED, NEXT), lambda each: each) == meant


def test_the_end_of_a_path_comes_before_the_beginning_of_an_id() -> None:
    """An id is random: `db` must not mean an open database with such an id while /data/db is closed."""
    assert named("db", (OPEN, CLOSED, NEXT), lambda each: each) == [CLOSED]
    assert named("db", (OPEN, NEXT), lambda each: each) == [OPEN, NEXT]

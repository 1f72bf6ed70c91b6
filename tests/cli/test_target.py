"""Which target a name means, above all where a database was destroyed and created anew under its path."""

from __future__ import annotations

from typing import cast

import pytest

from adocd.api.client import RestClient
from adocd.cli.exits import Exit, Failure
from adocd.cli.target import target_id


class Daemon:
    """Lists targets."""

    def __init__(self, *targets: tuple[str, str, str]) -> None:
        self._targets = [{"id": found, "path": path, "state": state} for found, path, state in targets]

    def get(self, path: str) -> object:
        """Answer the only request there is."""
        assert path == "/v1/targets"
        return {"targets": self._targets}


def meant(name: str | None, *targets: tuple[str, str, str]) -> str:
    return target_id(cast("RestClient", Daemon(*targets)), name)


@pytest.mark.parametrize("name", [None, "/db", "db"])
def test_the_open_one_under_a_path_is_meant_or_the_last(name: str | None) -> None:
    assert meant(name, ("aa", "/db", "closed"), ("bb", "/db", "attached")) == "bb"
    assert meant(name, ("aa", "/db", "attached"), ("bb", "/db", "closed")) == "aa"
    assert meant(name, ("aa", "/db", "closed"), ("bb", "/db", "closed")) == "bb"


def test_an_id_means_what_it_says() -> None:
    assert meant("aa", ("aa", "/db", "closed"), ("bb", "/db", "attached")) == "aa"


def test_two_that_are_open_under_one_path_are_on_two_hosts() -> None:
    with pytest.raises(Failure, match="say which target is meant") as refused:
        meant("/db", ("aa", "/db", "attached"), ("bb", "/db", "silent"))
    assert refused.value.code == Exit.USAGE

"""Which target a name means, above all where a database was destroyed and created anew under its path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from adocd.api.client import RestClient
from adocd.cli.exits import Exit, Failure
from adocd.cli.target import target_id


class Daemon:
    """Lists targets, and what is kept of others."""

    def __init__(self, *targets: tuple[str, str, str], kept: Sequence[tuple[str, str]] = ()) -> None:
        self._targets = [{"id": found, "path": path, "state": state} for found, path, state in targets]
        self._kept = [{"id": found, "path": path} for found, path in kept]

    def get(self, path: str) -> object:
        """Answer the only request there is."""
        assert path == "/v1/targets"
        return {"targets": self._targets, "kept": self._kept}


def meant(name: str | None, *targets: tuple[str, str, str]) -> str:
    return target_id(cast("RestClient", Daemon(*targets)), name)


@pytest.mark.parametrize("name", [None, "/db", "db"])
def test_the_open_one_under_a_path_is_meant_or_the_last(name: str | None) -> None:
    assert meant(name, ("aa", "/db", "closed"), ("bb", "/db", "attached")) == "bb"
    assert meant(name, ("aa", "/db", "attached"), ("bb", "/db", "closed")) == "aa"
    assert meant(name, ("aa", "/db", "closed"), ("bb", "/db", "closed")) == "bb"


def test_an_id_means_what_it_says() -> None:
    assert meant("aa", ("aa", "/db", "closed"), ("bb", "/db", "attached")) == "aa"


def test_one_that_is_kept_is_meant_where_it_can_be_and_no_open_one_is() -> None:
    daemon = cast("RestClient", Daemon(("bb", "/db", "attached"), kept=[("aa", "/db"), ("cc", "/old")]))
    assert target_id(daemon, "db", also_kept=True) == "bb"
    assert target_id(daemon, "aa", also_kept=True) == "aa"
    assert target_id(daemon, "old", also_kept=True) == "cc"
    assert target_id(daemon, None, also_kept=True) == "bb"
    with pytest.raises(
        Failure, match=r"/old is closed, and remembered \(cc\): open it, or use adocctl forget"
    ) as refused:
        target_id(daemon, "old")
    assert refused.value.code == Exit.NO_TARGET


def test_two_that_are_open_under_one_path_are_on_two_hosts() -> None:
    with pytest.raises(Failure, match="say which target is meant") as refused:
        meant("/db", ("aa", "/db", "attached"), ("bb", "/db", "silent"))
    assert refused.value.code == Exit.USAGE

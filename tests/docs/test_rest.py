"""docs/rest.md names every operation and every kind of event that there is, and the limits that hold."""

from __future__ import annotations

import re

from adocd.api import limits
from adocd.api.operations import OPERATIONS
from adocd.daemon.book.journal.content import OPERATIONS_KEPT
from adocd.daemon.watch.events import KEPT, KINDS
from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "rest.md").read_text()


def test_every_operation_is_named() -> None:
    named = set(re.findall(r"/[a-z/{}0-9-]+", PAGE))
    whole = {name.removeprefix("/v1") for name in named}
    for _, path in OPERATIONS:
        short = path.removeprefix("/v1").removeprefix("/targets/{target}").removesuffix("/{option}")
        assert short in whole or path.removeprefix("/v1") in whole, path


def test_every_kind_of_event_is_named() -> None:
    for kind in (*KINDS, "lost"):
        assert f"| `{kind}` |" in PAGE


def test_the_limits_are_those_that_hold() -> None:
    for number, words in (
        (limits.MAX_CONNECTIONS, "Streams do not count against the {} other connections"),
        (limits.MAX_STREAMS, "there may be {} streams,"),
        (limits.MAX_STREAMS - limits.SPARE_STREAMS, "{} of them over TCP"),
        (KEPT, "the last {} events, except samples"),
        (OPERATIONS_KEPT, "the newest {}, over restarts too"),
    ):
        assert words.format(f"{number:,}") in " ".join(PAGE.split())
    assert limits.STREAM_STUCK_S == 60

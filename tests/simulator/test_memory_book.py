"""What the daemon remembers of a simulated database."""

from __future__ import annotations

import asyncio

from adocd.daemon.book.journal.records import Pause
from adocd.model.values import of_database, of_family
from adocd.simulator.clock import Clock
from adocd.simulator.memory_book import MemoryBook

JOBS, SIZE = of_database("max_background_jobs"), of_family("default", "write_buffer_size")
BASELINE = {JOBS: "2", SIZE: "64"}


def intended(*sent: dict[object, str]) -> MemoryBook:
    book = MemoryBook(Clock())
    for values in sent:
        asyncio.run(book.intend("db", "/db", "session", list(values.items()), BASELINE))  # type: ignore[arg-type]
    return book


def test_originals_and_all_that_was_sent_are_kept() -> None:
    left = intended({JOBS: "4", SIZE: "64"}, {JOBS: "6"}, {JOBS: "4"}, {JOBS: "2"}).left("db")
    assert set(left) == {JOBS}, "what is sent back to its original was never ours"
    assert (left[JOBS].original, left[JOBS].sent) == ("2", ("6", "4"))
    assert [left[JOBS].is_ours(value) for value in ("2", "4", "6", "8")] == [False, True, True, False]


def test_what_was_seen_restored_is_forgotten_and_its_original_found_anew() -> None:
    book = intended({JOBS: "4", SIZE: "128"})
    book.forget("db", [JOBS])
    assert set(book.left("db")) == {SIZE}
    assert book.left("another") == {}


def test_pauses_hold_and_nothing_stands_in_the_way_of_changes() -> None:
    book = MemoryBook(Clock())
    assert book.problem is None
    book.pauses.enter(Pause("db", "/db", "paused", "a test", "alice", 0.0))
    assert book.pauses.of("db") is not None
    assert book.pauses.resume("db", "/db", "alice")
    assert book.pauses.of("db") is None

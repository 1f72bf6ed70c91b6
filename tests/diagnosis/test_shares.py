"""For what share of an interval writes were held, by cause."""

from adocd.diagnosis.stalls.seen import LastingStall, StallBook
from adocd.diagnosis.stalls.shares import shares


def seen(cause: str, begin_s: float) -> LastingStall:
    return LastingStall(cause, "delayed", begin_s, begin_s, "stall events")  # type: ignore[arg-type]


def test_stalls_in_progress_and_those_that_are_over_are_clipped_to_the_interval() -> None:
    book = StallBook()
    book.add("a", seen("memtable", 90), 100.25)
    book.add("a", seen("memtable", 100.5), 100.75)
    book.add("a", seen("pending_bytes", 50), 60)
    book.begin("a", seen("l0", 100.9))
    assert {c: round(v, 6) for c, v in shares(book, 100, 101).items()} == {"l0": 0.1, "memtable": 0.5}


def test_column_families_that_wait_together_count_once() -> None:
    book = StallBook()
    book.begin("a", seen("l0", 0))
    book.begin("b", seen("l0", 10))
    book.add("c", seen("l0", 2), 11)
    assert shares(book, 8, 12) == {"l0": 1.0}
    assert shares(StallBook(), 8, 12) == {}

"""Which changes a job may have taken back without showing it (facebook/rocksdb#13294), and when they are sent again."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.daemon.change.unsettled import Unsettled, is_needed
from adocd.model.snapshot import Event
from tests.builders import snapshot

DUE, NONE = frozenset({"default"}), frozenset[str]()


class Story:
    """Looks at a database, one a second, each with what happened in the second before it."""

    def __init__(self) -> None:
        self.unsettled = Unsettled()
        self._sequence = itertools.count(1)
        self.now_s = 100.0

    def look(
        self, *happened: tuple[str, int] | str, lost: int = 0, flushes: int = 1, compactions: int = 1
    ) -> frozenset[str]:  # fmt: skip
        """Name the events, jobs with their number; gives what is due then."""
        self.now_s += 1.0
        named = [(each, None) if isinstance(each, str) else each for each in happened]
        events = tuple(
            Event(next(self._sequence), self.now_s - 0.5, kind, column_family="default" if job else None, job=job)
            for kind, job in named
        )
        running = {"rocksdb.num-running-flushes": flushes, "rocksdb.num-running-compactions": compactions}
        self.unsettled.observe(
            snapshot(monotonic_s=self.now_s, events=events, lost_events=lost, properties=running),
        )
        return self.unsettled.due()

    def change(self, *happened: tuple[str, int] | str, lost: int = 0) -> None:
        """Change the column family, whose event is then seen unless it is lost."""
        self.unsettled.sending(["default"])
        self.look(*happened or ("options_changed",), lost=lost)
        self.unsettled.all_seen()


def test_the_last_job_that_began_before_the_change_makes_it_due() -> None:
    story = Story()
    story.look(("flush_begin", 1), ("compaction_begin", 2))
    story.change()
    assert story.look(("flush_end", 1), ("flush_begin", 3)) == NONE
    assert story.look(("compaction_end", 2)) == DUE
    story.unsettled.repeated(DUE)
    assert story.look(("flush_end", 3)) == NONE, "it began after the change"


def test_a_job_that_began_before_the_daemon_looked() -> None:
    """Nobody saw it begin, so it began before any change of ours."""
    story = Story()
    story.look(("flush_begin", 2))
    assert story.look(("compaction_end", 1)) == NONE, "nothing has been changed yet"
    story.change()
    assert story.look(("flush_begin", 4), ("compaction_end", 3)) == NONE, "the flush can do it again"
    assert story.look(("flush_end", 2)) == DUE
    story.unsettled.repeated(DUE)
    assert story.look(("compaction_end", 9)) == DUE, "and another such job"


def test_after_a_loss_any_job_may_have_ended() -> None:
    story = Story()
    story.look(("flush_begin", 1))
    story.change()
    assert story.look(lost=1) == DUE
    story.unsettled.repeated(DUE)
    assert story.look(("flush_end", 1)) == DUE, "it had not, and has now"


def test_the_event_of_the_change_itself_is_lost() -> None:
    story = Story()
    story.look(("flush_begin", 1))
    story.change(("flush_end", 1), lost=1)
    assert story.unsettled.due() == DUE


def test_a_loss_where_nothing_was_changed() -> None:
    story = Story()
    assert story.look(("flush_begin", 1), lost=7) == NONE
    assert story.look(("flush_end", 1)) == NONE


def test_a_flush_that_fails_has_no_end_and_keeps_nobody_waiting() -> None:
    """RocksDB tells nobody of it; the next one of the column family has what it had."""
    story = Story()
    story.look(("flush_begin", 1), ("compaction_begin", 2))
    story.change()
    assert story.look(("compaction_end", 2)) == NONE
    assert story.look(("flush_begin", 3)) == NONE
    assert story.look(("flush_end", 3)) == DUE


def test_a_flush_that_fails_and_none_comes_after_it() -> None:
    story = Story()
    story.look(("flush_begin", 1), ("compaction_begin", 2))
    story.change()
    assert story.look(("compaction_end", 2)) == NONE
    assert story.look(flushes=0) == DUE


def test_a_job_that_has_begun_since_the_agent_looked_is_not_gone() -> None:
    """Its begin can come with a snapshot from the agent's cache, which knows nothing of it."""
    story = Story()
    story.unsettled.sending(["default"])
    begin = Event(1, 100.0, "flush_begin", column_family="default", job=1)
    changed = Event(2, 100.01, "options_changed")
    idle = {"rocksdb.num-running-flushes": 0}
    story.unsettled.observe(snapshot(monotonic_s=99.98, events=(begin, changed), properties=idle))
    assert story.unsettled.due() == NONE
    assert story.look(("flush_end", 1)) == DUE


_KINDS = st.sampled_from(["flush_begin", "compaction_begin", "flush_end", "compaction_end", "fails", "change", "lost"])


@given(st.lists(_KINDS, max_size=40))
def test_nothing_that_may_have_been_taken_back_stays_so(story: list[str]) -> None:
    """Beside a model of RocksDB: once all jobs have ended and what is due was repeated, the change is in force."""
    told, numbers = Story(), itertools.count(2)
    running: dict[int, tuple[str, int]] = {1: ("compaction", 0)}
    shown = in_force = 0

    def take(what: str, **members: Any) -> None:
        nonlocal shown, in_force
        if what == "change":
            shown += 1
            in_force = shown
            told.change()
        elif what.endswith("_begin"):
            number = next(numbers)
            running[number] = what.partition("_")[0], shown
            told.look((what, number), **members)
        elif what == "fails":
            for number in [n for n, (kind, _) in running.items() if kind == "flush"]:
                del running[number]
            told.look(flushes=0)
        else:
            kind = what.partition("_")[0]
            if (number := next((n for n, (its, _) in running.items() if its == kind), 0)) == 0:
                return
            in_force = running.pop(number)[1]
            told.look((what, number), **members)
        if told.unsettled.due():
            told.unsettled.repeated(DUE)
            in_force = shown

    for at, what in enumerate(story):
        if what != "lost":
            take(what)
            continue
        # What comes next is not told, but that something was.
        for number in [n for n, (kind, _) in running.items() if kind == ("flush", "compaction")[at % 2]]:
            in_force = running.pop(number)[1]
        told.look(lost=1)
        if told.unsettled.due():
            told.unsettled.repeated(DUE)
            in_force = shown
    for kind, _ in list(running.values()):
        take(f"{kind}_end")
    told.look(flushes=0, compactions=0)
    if told.unsettled.due():
        in_force = shown
    assert in_force == shown


@pytest.mark.parametrize(
    ("rocksdb", "protocol", "needed"),
    [("7.8.3", "1.1", True), ("9.10.0", "1.2", True), ("9.11.0", "1.2", False), ("7.8.3", "1.0", False)],
)
def test_where_it_is_needed(rocksdb: str, protocol: str, needed: bool) -> None:
    assert is_needed(rocksdb, protocol) is needed

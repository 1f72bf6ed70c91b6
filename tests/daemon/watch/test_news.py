"""What a target's loop tells of itself: each change once."""

from __future__ import annotations

from adocd.daemon.watch.events import Events
from adocd.daemon.watch.news import News
from adocd.diagnosis.stalls.seen import LastingStall
from adocd.diagnosis.stalls.watch import StallWatch
from adocd.model.stall import Cause, Held


class Told:
    """News of one target at a time that the test sets, and what a reader heard of it."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.watch = StallWatch()
        events = Events()
        self._feed = events.read(kinds=frozenset({"stall", "target"}))
        self.news = News("a", "/a", events, lambda: self.now_s)

    def begins(self, family: str, cause: Cause = "l0", held: Held = "delayed", at_s: float | None = None) -> None:
        """Let a stall begin there."""
        begin_s = self.now_s if at_s is None else at_s
        self.watch._book.begin(family, LastingStall(cause, held, begin_s, self.now_s, "stall events", "21 files"))

    def ends(self, family: str, at_s: float | None = None) -> None:
        """Let it end."""
        self.watch._book.end(family, self.now_s if at_s is None else at_s)

    def look(self) -> list[tuple[object, ...]]:
        """Let the loop look; state, condition and end of what it tells."""
        self.news.looked(self.watch)
        heard: list[tuple[object, ...]] = []
        for event in self._feed.take(100, 0.0):
            stall = event.members["stall"]
            heard.append((event.members["state"], stall.condition, event.members.get("ended_unix_s")))
        return heard

    def states(self) -> list[tuple[str, str]]:
        """Return the states that were told, with their sentences."""
        return [(event.members["state"], event.members["sentence"]) for event in self._feed.take(100, 0.0)]


def test_a_stall_is_told_when_it_begins_changes_and_ends() -> None:
    told = Told()
    assert told.look() == []
    told.begins("default")
    assert told.look() == [("began", "delayed", None)]
    assert told.look() == []
    told.now_s = 1001.0
    told.begins("other", "memtable", "stopped")
    assert told.look() == [("changed", "stopped", None)]
    told.ends("other")
    assert told.look() == [("changed", "delayed", None)]
    told.now_s = 1004.5
    told.ends("default", 1004.0)
    assert told.look() == [("ended", "delayed", 1004.0)]
    assert told.look() == []


def test_a_stall_that_was_over_before_anybody_looked_is_told_at_once() -> None:
    told = Told()
    told.now_s = 1002.0
    told.begins("default", at_s=1001.0)
    told.ends("default", 1001.2)
    told.begins("other", "memtable", "stopped", at_s=1001.1)
    told.ends("other", 1001.3)
    assert told.look() == [("began", "stopped", 1001.3), ("ended", "stopped", 1001.3)]
    assert told.look() == []


def test_after_the_clock_was_set_back_stalls_are_news_at_once() -> None:
    told = Told()
    told.begins("default")
    told.look()
    told.now_s = 1003.0
    told.ends("default", 1002.0)
    assert told.look() == [("ended", "delayed", 1002.0)]
    told.now_s = -2601.0
    assert told.look() == []
    for hour_ago_s in (-2600.0, -2590.0):
        told.now_s = hour_ago_s
        told.begins("default", at_s=hour_ago_s - 0.8)
        told.ends("default", hour_ago_s - 0.5)
        assert [(state, end_s) for state, _, end_s in told.look()] == [
            ("began", hour_ago_s - 0.5),
            ("ended", hour_ago_s - 0.5),
        ]


def test_what_the_log_tells_again_is_no_news() -> None:
    told = Told()
    told.begins("default")
    told.look()
    told.now_s = 1003.0
    told.ends("default")
    told.look()
    told.watch._book.learn_ended("default", ("l0", "delayed"), 1000.1, 1002.9, 1004.0)
    assert told.look() == []


def test_a_change_of_state_is_told_with_its_sentence() -> None:
    told = Told()
    for state, sentence in (("attached", "fixed"), ("attached", "fixed"), ("silent", "the agent has been silent")):
        told.news.ticked(state, sentence)
    assert told.states() == [("attached", "fixed"), ("silent", "the agent has been silent")]

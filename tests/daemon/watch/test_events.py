"""The ring of events and its readers: nothing is told twice, and what is lost is counted."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from adocd.daemon.watch.events import EventReader, Events, TargetEvent


def told(feed: EventReader, most: int = 10_000) -> list[TargetEvent]:
    return feed.take(most, 0.0)


def ids(feed: EventReader) -> list[int]:
    return [event.id for event in told(feed)]


def happened(events: Events, count: int = 1, **members: object) -> None:
    for _ in range(count):
        events.publish("decision", 0.0, target="a", path="/a", **members)


def test_a_reader_hears_what_comes_after_it_began() -> None:
    events = Events(first_id=100)
    happened(events)
    feed = events.read()
    assert told(feed) == []
    happened(events, 2)
    assert ids(feed) == [101, 102]
    assert told(feed) == []


def test_a_reader_that_comes_back_goes_on_where_it_was() -> None:
    events = Events(first_id=100)
    happened(events, 5)
    assert ids(events.read(after=102)) == [103, 104]
    assert ids(events.read(after=104)) == []


def test_a_reader_begins_with_the_last_ones_that_it_wants() -> None:
    events = Events(first_id=100)
    for target in "abab":
        events.publish("decision", 0.0, target=target, path=target)
    assert ids(events.read(last=3)) == [101, 102, 103]
    assert ids(events.read(last=9)) == [100, 101, 102, 103], "and is not told of any as lost"
    assert ids(events.read(target="a", last=1)) == [102]
    assert ids(events.read(after=101, last=9)) == [102, 103]
    assert ids(events.read(after=0, last=1)) == [103]
    feed = events.read(last=0)
    assert ids(feed) == []
    happened(events)
    assert ids(feed) == [104]


def test_a_slow_reader_is_told_how_much_it_has_lost() -> None:
    events = Events(first_id=1, kept=10)
    feed = events.read()
    happened(events, 25)
    lost, *rest = told(feed)
    assert (lost.kind, lost.id, lost.members) == ("lost", 15, {"count": 15})
    assert [event.id for event in rest] == list(range(16, 26))


def test_of_another_run_of_the_daemon_nobody_knows_how_much_was_lost() -> None:
    events = Events(first_id=1000)
    happened(events, 2)
    for after in (7, 5_000_000):
        lost, *rest = told(events.read(after=after))
        assert (lost.kind, lost.members, lost.id) == ("lost", {"count": None}, 999)
        assert [event.id for event in rest] == [1000, 1001]
    assert ids(Events(first_id=1000).read(after=999)) == []


def test_only_what_was_asked_for() -> None:
    events = Events()
    of_b = events.read(target="b")
    stalls = events.read(kinds=frozenset({"stall"}))
    happened(events)
    events.publish("stall", 0.0, target="b", path="/b", state="began")
    events.publish("daemon", 0.0, about="journal", sentence="full")
    assert [event.kind for event in told(of_b)] == ["stall", "daemon"], "the daemon's are everybody's"
    assert [event.kind for event in told(stalls)] == ["stall"]


def test_of_samples_the_newest_is_enough_and_none_is_kept() -> None:
    events = Events(first_id=5)
    feed = events.read()
    for second in range(1000):
        events.sampled(float(second), target="a", path="/a")
        events.sampled(float(second), target="b", path="/b")
    happened(events)
    first, *samples = told(feed)
    assert first.kind == "decision", "what happened comes first"
    assert [(event.target, event.unix_s, event.id) for event in samples] == [("a", 999.0, 4), ("b", 999.0, 4)]
    assert told(events.read(after=4))[0].kind == "decision", "a reader of samples alone can go on from their ids"


def test_a_reader_waits_until_something_comes_for_it() -> None:
    async def run() -> None:
        events = Events()
        feed = events.read(kinds=frozenset({"stall"}))
        assert told(feed) == []
        happened(events)
        assert not await feed.wait(0.01), "that was not for it"
        asyncio.get_running_loop().call_later(0.01, events.publish, "stall", 0.0)
        assert await feed.wait(30)
        assert len(told(feed)) == 1
        feed.close()
        feed.close()

    asyncio.run(run())


@given(
    steps=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=40),
    kept=st.integers(1, 20),
    came=st.integers(0, 10),
)
def test_what_is_read_and_what_is_lost_is_all(steps: list[tuple[int, int]], kept: int, came: int) -> None:
    events = Events(first_id=50, kept=kept)
    feed = events.read()
    seen: list[int] = []
    lost = 0
    for happens, reads in steps:
        happened(events, happens)
        for event in feed.take(reads, 0.0):
            if event.kind == "lost":
                lost += event.members["count"]
            else:
                seen.append(event.id)
    for event in told(feed):
        if event.kind == "lost":
            lost += event.members["count"]
        else:
            seen.append(event.id)
    assert seen == sorted(set(seen))
    assert len(seen) + lost == sum(happens for happens, _ in steps)
    last = min(49 + came, events.newest_id)  # one that is yet to come is another daemon's
    after = events.read(after=last)
    assert all(event.id > last or event.kind == "lost" for event in told(after))

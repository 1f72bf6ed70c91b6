"""The watch, by sequences written by hand, and what must hold whatever comes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adocd.diagnosis.watch import StallWatch
from adocd.diagnosis.watch.seen import FOUND_MOST, Named, StallSeen
from adocd.model.sample import ColumnFamilySample
from adocd.model.snapshot import Condition, Event
from adocd.model.stall import COUNTS
from adocd.probes.log import LogParser
from tests.builders import column_family, sample

from .logs import BEGIN_S, compacted, flushed, opened, stall

STOP = "we have 2 immutable memtables (waiting for flush), max_write_buffer_number is set to 2"
L0 = "we have 20 level-0 files rate 8388608"
#: Between the clocks: unix seconds less monotonic ones.
APART_S = BEGIN_S
RATE = 8 << 20


def event(at_s: float, previous: Condition, condition: Condition, family: str = "default") -> Event:
    return Event(1, at_s, "stall", column_family=family, previous=previous, condition=condition)


def sampled(
    watch: StallWatch,
    at_s: float,
    condition: Condition = "normal",
    *families: ColumnFamilySample,
    events: Iterable[Event] = (),
    **members: Any,
) -> None:
    """Tell it a sample of the second until `at_s`; the delayed rate is what the property says in that condition."""
    members.setdefault("delayed_write_rate_bytes_per_s", RATE if condition == "delayed" else 0)
    watch.sampled(
        sample(*families, monotonic_s=at_s, condition=condition, events=tuple(events), **members), APART_S + at_s
    )


def logged(watch: StallWatch, at_s: float, *written: bytes) -> None:
    """Tell it lines of a LOG, in times of the same clock as the samples'."""
    parser = LogParser()
    watch.logged([*parser.feed(b"".join(written)), *parser.finish()], BEGIN_S + at_s)


def spans(found: Iterable[StallSeen]) -> list[tuple[float, float, str, str, str]]:
    """Say what was found, in seconds of the samples' clock."""
    return [
        (round(s.begin_unix_s - APART_S, 3), round(s.end_unix_s - APART_S, 3), s.cause, s.condition, s.evidence)
        for s in found
    ]


def now(watch: StallWatch) -> Any:
    assert watch.now is not None
    return watch.now


def test_without_a_stall_there_is_nothing() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11)
    assert watch.now is None
    assert not watch.found


def test_a_stop_by_memtables_is_seen_while_it_lasts_though_its_event_comes_when_it_is_over() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "stopped", column_family(immutable_memtables=2, memtable_stops=1))
    seen = now(watch)
    assert (seen.condition, seen.causes, seen.evidence) == ("stopped", (Named("memtable", "default"),), "properties")
    assert seen.since_unix_s == pytest.approx(APART_S + 10.5)
    assert seen.noticed_unix_s == pytest.approx(APART_S + 11)
    assert seen.why == (
        "writes were stopped: column family default has 2 immutable memtables, max_write_buffer_number 2"
    )
    # The flush tells the end before the writer tells the beginning.
    over = [event(11.4, "stopped", "normal"), event(11.4, "normal", "stopped")]
    sampled(watch, 12, events=over, stalled_fraction=0.7)
    assert watch.now is None
    assert spans(watch.found) == [(10.7, 11.4, "memtable", "stopped", "properties")], "it began 0.7 s before its end"


def test_a_delay_has_its_times_from_the_events_and_its_cause_from_the_rule() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "delayed", column_family(l0_files=20), events=[event(10.25, "normal", "delayed")])
    assert now(watch).causes == (Named("l0", "default"),)
    assert now(watch).evidence == "stall events"
    assert now(watch).since_unix_s == pytest.approx(APART_S + 10.25)
    sampled(watch, 12, "delayed", column_family(l0_files=21))
    sampled(watch, 13, events=[event(12.75, "delayed", "normal")])
    assert spans(watch.found) == [(10.25, 12.75, "l0", "delayed", "stall events")]


def test_what_began_and_ended_between_two_samples_is_found_by_events_and_named_by_counts() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    short = [event(10.2, "normal", "delayed"), event(10.5, "delayed", "normal")]
    sampled(watch, 11, "normal", column_family(stalls={"pending_bytes_slowdowns": 2}), events=short)
    assert watch.now is None
    assert spans(watch.found) == [(10.2, 10.5, "pending_bytes", "delayed", "stall events")]


def test_and_by_counts_alone_it_was_within_the_window() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "normal", column_family(stalls={"l0_stops": 1, "memtable_slowdowns": 3}))
    assert sorted(spans(watch.found)) == [
        (10, 11, "l0", "stopped", "counts"),
        (10, 11, "memtable", "delayed", "counts"),
    ]


def test_events_of_a_stop_that_the_properties_showed_are_not_another() -> None:
    """The notice of a stop comes in the next window, and RocksDB has not counted another."""
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "stopped", column_family(immutable_memtables=2, memtable_stops=1))
    sampled(watch, 12)
    sampled(watch, 13, events=[event(12.1, "normal", "stopped"), event(12.11, "stopped", "normal")])
    assert [(s.cause, s.condition) for s in watch.found] == [("memtable", "stopped")]


def test_a_stop_within_a_delay_is_one_of_each() -> None:
    """Between them no event tells: the delay's end and the stop's beginning are told when both are over."""
    watch = StallWatch()
    sampled(watch, 10)
    six: dict[str, Any] = {"max_write_buffer_number": 6}
    delayed = column_family(immutable_memtables=5, stalls={"memtable_slowdowns": 1}, **six)
    sampled(watch, 11, "delayed", delayed, events=[event(10.5, "normal", "delayed")])
    sampled(watch, 12, "stopped", column_family(immutable_memtables=6, memtable_stops=1, **six))
    assert now(watch).condition == "stopped"
    sampled(watch, 13, events=[event(12.5, "stopped", "normal"), event(12.5, "delayed", "stopped")])
    assert watch.now is None
    assert [(c, h) for _, _, c, h, _ in spans(watch.found)] == [("memtable", "delayed"), ("memtable", "stopped")]


def test_the_events_go_on_from_the_condition_at_attach() -> None:
    """The daemon attaches in the middle of a delay, and no sample is ever normal."""
    watch, held = StallWatch(), column_family(l0_files=20)
    sampled(watch, 11, "delayed", held, condition_told_before="delayed")
    between = [event(11.2, "delayed", "normal"), event(11.6, "normal", "delayed")]
    sampled(watch, 12, "delayed", column_family(l0_files=20, stalls={"l0_slowdowns": 1}), events=between)
    between = [event(12.3, "delayed", "stopped"), event(12.5, "stopped", "delayed")]
    sampled(watch, 13, "delayed", column_family(l0_files=20, stalls={"l0_stops": 1}), events=between)
    between = [event(13.1, "delayed", "normal"), event(13.4, "normal", "delayed")]
    sampled(watch, 14, "delayed", column_family(l0_files=20, stalls={"l0_slowdowns": 1}), events=between)
    assert [(end_s, held) for _, end_s, _, held, _ in spans(watch.found)] == [
        (11.2, "delayed"),
        (12.3, "delayed"),
        (12.5, "stopped"),
        (13.1, "delayed"),
    ]
    assert now(watch).evidence == "stall events"
    assert now(watch).since_unix_s == pytest.approx(APART_S + 13.4)


def test_at_attach_a_stop_that_is_told_late_is_still_told_late() -> None:
    """The agent's events had told of nothing, though the property said `stopped`."""
    watch = StallWatch()
    sampled(watch, 11, "stopped", column_family(immutable_memtables=2), condition_told_before="normal")
    late = [event(11.4, "stopped", "normal"), event(11.4, "normal", "stopped")]
    sampled(watch, 12, "delayed", column_family(l0_files=20), events=[*late, event(11.7, "normal", "delayed")])
    assert now(watch).condition == "delayed"
    assert now(watch).since_unix_s == pytest.approx(APART_S + 11.7)
    assert [(end_s, held) for _, end_s, _, held, _ in spans(watch.found)] == [(11.4, "stopped")]


def test_counts_name_the_cause_before_the_figures_do() -> None:
    """RocksDB held writes for pending bytes; level 0 has reached its trigger since."""
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "delayed", column_family(l0_files=20, stalls={"pending_bytes_slowdowns": 1}))
    assert now(watch).causes == (Named("pending_bytes", "default"),)


def test_of_several_that_were_counted_the_figures_name_the_one_that_lasts() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    counts = {"pending_bytes_slowdowns": 5, "l0_slowdowns": 1}
    sampled(watch, 11, "delayed", column_family(l0_files=20, stalls=counts))
    assert now(watch).causes == (Named("l0", "default"),)
    assert [(c, h) for _, _, c, h, _ in spans(watch.found)] == [("pending_bytes", "delayed")]


def test_the_column_family_that_holds_writes_is_named_worst_first() -> None:
    watch = StallWatch()
    sampled(watch, 10, "normal", column_family("a"), column_family("b"))
    sampled(watch, 11, "stopped", column_family("a", l0_files=20), column_family("b", immutable_memtables=2))
    assert now(watch).condition == "stopped"
    assert now(watch).causes == (Named("memtable", "b"), Named("l0", "a"))


def test_what_nothing_explains_is_said_to_be_so() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "stopped")
    assert now(watch).causes == (Named("other", None),)
    assert "no figure or count" in now(watch).why
    sampled(watch, 12)
    assert spans(watch.found) == [(10.5, 11.5, "other", "stopped", "properties")]


def test_limits_that_are_not_reported_hold_nothing() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    bare = sample().options
    bare = type(bare)(database=bare.database, column_families={"default": {}})
    zero = column_family(l0_files=3, level0_stop_writes_trigger=0, level0_slowdown_writes_trigger=0)
    sampled(watch, 11, "stopped", zero, options=bare)
    assert now(watch).causes == (Named("other", None),)


def test_silence_is_possibly_a_stall_only_of_an_agent_that_stands_still_in_one() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    watch.silent(2.0, APART_S + 12, may_be_stalled=False, surroundings_in_words=None)
    assert watch.now is None
    watch.silent(3.0, APART_S + 13, may_be_stalled=True, surroundings_in_words="vda writes 80 MB/s")
    seen = now(watch)
    assert (seen.condition, seen.causes, seen.evidence) == ("possibly", (), "silence")
    assert seen.since_unix_s == pytest.approx(APART_S + 10)
    assert seen.noticed_unix_s == pytest.approx(APART_S + 12)
    assert seen.why == ("the agent has been silent for 3.0 s, as it is while writes are stalled; vda writes 80 MB/s")
    sampled(watch, 14, "normal", interval_s=4.0)
    assert watch.now is None
    assert not watch.found, "no count and no figure says that it was one"


def test_a_silence_that_was_a_stall_has_its_name_afterwards_and_was_noticed_before() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    watch.silent(2.1, APART_S + 12.5, may_be_stalled=True)
    counted = column_family(memtable_stops=1)
    sampled(watch, 13.5, "normal", counted, interval_s=3.5, stalled_fraction=3.0 / 3.5)
    assert spans(watch.found) == [(10.5, 13.5, "memtable", "stopped", "counts")]
    assert watch.found[0].noticed_unix_s == pytest.approx(APART_S + 12.5)


@pytest.mark.parametrize(
    ("counted", "found"),
    [
        ({}, [(10.5, 15, "l0", "delayed", "properties")]),
        ({"l0_stops": 1}, [(10.5, 12, "l0", "delayed", "properties"), (12, 15, "l0", "stopped", "counts")]),
    ],
)
def test_what_was_there_before_the_silence_lasted_through_it_unless_another_did(
    counted: dict[str, int], found: list[tuple[float, float, str, str, str]]
) -> None:
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "delayed", column_family(l0_files=20))
    watch.silent(2.0, APART_S + 14, may_be_stalled=True)
    assert now(watch).condition == "possibly"
    assert now(watch).causes == (Named("l0", "default"),)
    assert "when it last answered, writes were delayed" in now(watch).why
    sampled(watch, 15, "normal", column_family(stalls=counted), interval_s=4.0, stalled_fraction=0.75)
    assert spans(watch.found) == found


def test_in_silence_the_log_names_condition_and_cause() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    watch.silent(2.0, APART_S + 12, may_be_stalled=True)
    assert now(watch).condition == "possibly"
    logged(watch, 12.1, opened(at_s=0), stall(10.4, STOP, stopped=True))
    seen = now(watch)
    assert (seen.condition, seen.causes, seen.evidence) == ("stopped", (Named("memtable", "default"),), "LOG")
    assert seen.since_unix_s == pytest.approx(BEGIN_S + 10.4)
    assert "2 immutable memtables, max_write_buffer_number 2" in seen.why
    logged(watch, 13.1, flushed(13.0))
    sampled(watch, 13.2, "normal", column_family(memtable_stops=1), interval_s=3.2)
    assert watch.now is None
    assert spans(watch.found) == [(10.4, 13.0, "memtable", "stopped", "LOG")]


def test_a_line_that_is_newer_than_the_last_sample_counts_at_once() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    logged(watch, 10.2, opened(at_s=0), stall(10.1, L0))
    assert (now(watch).condition, now(watch).evidence) == ("delayed", "LOG")


def test_a_line_that_is_older_does_not_beat_the_sample() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    logged(watch, 10.2, opened(at_s=0), stall(9.1, L0))
    assert watch.now is None


def test_the_log_makes_times_exact_that_were_guesses() -> None:
    """Two samples in a row saw a delay, which were two delays."""
    watch = StallWatch()
    logged(watch, 9, opened(at_s=0))
    sampled(watch, 10.5)
    sampled(watch, 11.5, "delayed", column_family(l0_files=20))
    sampled(watch, 12.5, "delayed", column_family(l0_files=20))
    sampled(watch, 13.5)
    assert spans(watch.found) == [(11, 13, "l0", "delayed", "properties")]
    logged(watch, 14, stall(11.25, L0), compacted(11.75), stall(12.25, L0), compacted(12.75, job=3))
    assert spans(watch.found) == [(11.25, 11.75, "l0", "delayed", "LOG"), (12.25, 12.75, "l0", "delayed", "LOG")]
    assert [s.noticed_unix_s - APART_S for s in watch.found] == [pytest.approx(11.5), pytest.approx(12.25)]


def test_also_of_one_that_lasts() -> None:
    watch = StallWatch()
    logged(watch, 9, opened(at_s=0))
    sampled(watch, 10.5)
    sampled(watch, 11.5, "delayed", column_family(l0_files=20))
    sampled(watch, 12.5, "delayed", column_family(l0_files=20))
    logged(watch, 12.6, stall(11.25, L0), compacted(11.75), stall(12.25, L0))
    assert spans(watch.found) == [(11.25, 11.75, "l0", "delayed", "LOG")]
    assert now(watch).since_unix_s == pytest.approx(APART_S + 12.25)
    sampled(watch, 13.5)
    assert len(watch.found) == 2


def test_the_log_alone_is_enough() -> None:
    """A directory target has no agent."""
    watch = StallWatch()
    logged(watch, 10.5, opened(at_s=0), stall(10, L0))
    assert (now(watch).condition, now(watch).causes) == ("delayed", (Named("l0", "default"),))
    logged(watch, 12.5, stall(12, STOP, stopped=True))
    assert now(watch).condition == "stopped"
    logged(watch, 14.5, flushed(14))
    assert watch.now is None
    assert spans(watch.found) == [(10, 12, "l0", "delayed", "LOG"), (12, 14, "memtable", "stopped", "LOG")]


def test_a_log_that_is_being_caught_up_with_tells_nothing_of_now() -> None:
    watch = StallWatch()
    logged(watch, 5000, opened(at_s=0), stall(10, L0))
    assert watch.now is None
    logged(watch, 5001, flushed(20), stall(4999, L0))
    assert now(watch).since_unix_s == pytest.approx(BEGIN_S + 4999)
    assert spans(watch.found) == [(10, 20, "l0", "delayed", "LOG")]


def test_the_close_ends_it_and_another_session_begins_anew() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "stopped", column_family(immutable_memtables=2))
    watch.closed(APART_S + 11.6)
    assert watch.now is None
    assert spans(watch.found) == [(10.5, 11.6, "memtable", "stopped", "properties")]
    sampled(watch, 12, "stopped", column_family(immutable_memtables=2))
    sampled(watch, 13, "normal", session="s2")
    assert watch.now is None
    assert len(watch.found) == 2


def test_a_dropped_column_family_stalls_nobody() -> None:
    watch = StallWatch()
    sampled(watch, 10, "normal", column_family("a"), column_family("b"))
    sampled(watch, 11, "stopped", column_family("a"), column_family("b", immutable_memtables=2))
    sampled(watch, 12, "normal", column_family("a"))
    assert watch.now is None
    assert [s.column_family for s in watch.found] == ["b"]


# -- whatever comes

CONDITIONS: st.SearchStrategy[Condition] = st.sampled_from(["normal", "delayed", "stopped"])
FAMILIES = st.sampled_from(["a", "b"])
COUNTED = st.dictionaries(st.sampled_from([*COUNTS]), st.integers(0, 3), max_size=3)
FIGURES = st.fixed_dictionaries({"l0_files": st.integers(0, 40), "immutable_memtables": st.integers(0, 3)})
SAMPLED = st.tuples(
    st.just("sampled"),
    CONDITIONS,
    st.tuples(COUNTED, FIGURES),
    st.tuples(COUNTED, FIGURES),
    st.lists(st.tuples(st.floats(0, 1.2), CONDITIONS, CONDITIONS, FAMILIES), max_size=4),
    st.sampled_from(["s1", "s1", "s1", "s2"]),
)
LINES = st.lists(
    st.one_of(
        st.tuples(st.just("stall"), st.floats(-8, 0.5), st.booleans(), FAMILIES),
        st.tuples(st.just("flushed"), st.floats(-8, 0.5), st.booleans(), FAMILIES),
    ),
    max_size=4,
)
STEPS = st.lists(
    st.one_of(
        SAMPLED,
        st.tuples(st.just("logged"), LINES),
        st.tuples(st.just("silent"), st.floats(0, 9), st.booleans()),
        st.tuples(st.just("closed")),
    ),
    max_size=25,
)


def step(watch: StallWatch, at_s: float, what: Any) -> None:
    if what[0] == "sampled":
        _, condition, a, b, events, session = what
        families = [
            column_family(name, stalls=counts, **figures) for name, (counts, figures) in zip("ab", (a, b), strict=True)
        ]
        told = [event(at_s - before, previous, now, family) for before, previous, now, family in events]
        sampled(watch, at_s, condition, *families, events=told, session=session)
    elif what[0] == "logged":
        written = [
            stall(at_s + after, STOP if flag else L0, stopped=flag, family=family)
            if kind == "stall"
            else flushed(at_s + after, family=family)
            for kind, after, flag, family in what[1]
        ]
        logged(watch, at_s, *written)
    elif what[0] == "silent":
        watch.silent(what[1], APART_S + at_s, what[2], None)
    else:
        watch.closed(APART_S + at_s)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_whatever_comes(steps: list[Any]) -> None:
    """Never two open stalls of one kind, nothing noticed before it began or later than now, nothing ends before."""
    watch = StallWatch()
    for number, what in enumerate(steps):
        at_s = 100.0 + number
        step(watch, at_s, what)
        seen = watch.now
        if seen is not None:
            assert len(set(seen.causes)) == len(seen.causes)
            assert len({named.column_family for named in seen.causes}) == len(seen.causes)
            assert seen.since_unix_s <= seen.noticed_unix_s <= APART_S + at_s
            assert seen.why
        for each in watch.found:
            assert each.begin_unix_s <= each.noticed_unix_s <= APART_S + at_s + 1e-6
            assert each.begin_unix_s <= each.end_unix_s
    watch.closed(APART_S + 1000)
    assert watch.now is None


def test_memory_is_bounded() -> None:
    watch = StallWatch()
    for number in range(3 * FOUND_MOST):
        sampled(watch, 10.0 + number, "normal", column_family(stalls={"l0_stops": 1}))
    assert len(watch.found) == FOUND_MOST
    ahead = [event(1e6, "normal", "delayed")] * 5000
    sampled(watch, 9000, events=ahead)
    for family in range(3000):
        logged(watch, 9000, stall(8999, L0, family=f"f{family}"), flushed(8999.5, family=f"f{family}"))
    assert len(watch.found) == FOUND_MOST
    assert len(watch._ahead) <= 1024

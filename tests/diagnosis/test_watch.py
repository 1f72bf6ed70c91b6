"""The watch, by samples written by hand: what they tell, and what a close and a dropped column family end."""

from __future__ import annotations

from typing import Any

import pytest

from adocd.diagnosis.stalls import StallWatch
from adocd.diagnosis.stalls.seen import Named
from adocd.model.options import LEVEL_COMPACTION, UNIVERSAL_COMPACTION
from tests.builders import column_family, sample
from tests.diagnosis.watching import APART_S, event, now, sampled, spans


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
    assert seen.causes == (Named("memtable", "default", "stopped"),)
    assert (seen.condition, seen.evidence) == ("stopped", "properties")
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
    assert now(watch).causes == (Named("l0", "default", "delayed"),)
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
    assert now(watch).causes == (Named("pending_bytes", "default", "delayed"),)


def test_of_several_that_were_counted_the_figures_name_the_one_that_lasts() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    counts = {"pending_bytes_slowdowns": 5, "l0_slowdowns": 1}
    sampled(watch, 11, "delayed", column_family(l0_files=20, stalls=counts))
    assert now(watch).causes == (Named("l0", "default", "delayed"),)
    assert [(c, h) for _, _, c, h, _ in spans(watch.found)] == [("pending_bytes", "delayed")]


def test_the_column_family_that_holds_writes_is_named_worst_first() -> None:
    watch = StallWatch()
    sampled(watch, 10, "normal", column_family("a"), column_family("b"))
    sampled(watch, 11, "stopped", column_family("a", l0_files=20), column_family("b", immutable_memtables=2))
    assert now(watch).condition == "stopped"
    assert now(watch).causes == (Named("memtable", "b", "stopped"), Named("l0", "a", "delayed"))


def test_what_nothing_explains_is_said_to_be_so() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "stopped")
    assert now(watch).causes == (Named("other", None, "stopped"),)
    assert "no figure or count" in now(watch).why
    sampled(watch, 12)
    assert spans(watch.found) == [(10.5, 11.5, "other", "stopped", "properties")]


@pytest.mark.parametrize(
    ("style", "cause", "why"),
    [
        (UNIVERSAL_COMPACTION, Named("l0", "default", "delayed"), "17 level-0 files and 3 further levels with files"),
        (LEVEL_COMPACTION, Named("other", None, "delayed"), "no figure or count"),
    ],
)
def test_under_universal_compaction_levels_with_files_count_as_level_0(style: str, cause: Named, why: str) -> None:
    """RocksDB compares the L0 triggers with the number of sorted runs."""
    watch = StallWatch()
    runs = column_family(l0_files=17, further_levels=(0, 0, 0, 1, 9, 40), compaction_style=style)
    sampled(watch, 10)
    sampled(watch, 11, "delayed", runs)
    assert now(watch).causes == (cause,)
    assert why in now(watch).why


def test_limits_that_are_not_reported_hold_nothing() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    bare = sample().options
    bare = type(bare)(database=bare.database, column_families={"default": {}})
    zero = column_family(l0_files=3, level0_stop_writes_trigger=0, level0_slowdown_writes_trigger=0)
    sampled(watch, 11, "stopped", zero, options=bare)
    assert now(watch).causes == (Named("other", None, "stopped"),)


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

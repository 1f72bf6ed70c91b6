"""A run's figures, against sums that were made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from adocd_bench.evaluation.raw import LatencyHistogram, Operations, Process, RawStall, Second
from adocd_bench.evaluation.report.accounting import ALL, WorstSecond, figures, own_device_bytes, reactions
from adocd_bench.evaluation.report.measures import MEASURES

from tests.bench.evaluation.report.builders import MIB, at, decided, held, histogram, moved, run, sampled, settled


def test_throughput_and_its_drain() -> None:
    found = figures(run(per_s=1200, seconds=10, drain_s=5.0))
    assert found.operations == 12_000
    assert found.throughput_per_s == 1200
    assert found.with_drain_per_s == 800


def test_reads_between_the_phase_and_the_drain_count_because_merges_go_on_in_them() -> None:
    asked = replace(run(per_s=1200, seconds=10, drain_s=5.0), settled=settled(clients_ended_s=15.0))
    assert figures(asked).with_drain_per_s == 600


def test_a_drain_that_was_not_reached_is_not_measured() -> None:
    found = figures(run(drain_s=None, drained=None))
    assert found.with_drain_per_s is None
    assert found.drain_s is None
    assert found.write_amplification_drained is None


def test_held_time_by_cause() -> None:
    stalls = [
        held(1.0, begin_s=0, cause="l0", condition="delayed"),
        held(0.5, begin_s=2),
        held(0.25, begin_s=4),
        held(0.5, begin_s=6, cause="l0"),
        replace(held(3.0, begin_s=11), stalled_s=0.0),
    ]
    found = figures(run(seconds=10, stalls=stalls))
    assert found.held_s == {"stopped": {"memtable": 0.75, "l0": 0.5}, "delayed": {"l0": 1.0}}
    assert list(found.held_s["stopped"]) == ["memtable", "l0"]
    assert found.stopped_share == 0.125
    assert found.delayed_share == 0.1
    assert found.held_for("memtable", "l0") == 2.25
    assert found.stalls == 4  # the last began in the drain


def test_writers_waited_as_long_as_the_ticker_says() -> None:
    assert figures(run(seconds=10, at_end=moved(stalled_s=2.5))).waited_share == 0.25
    without = figures(run(at_end=moved(stalled_s=None)))
    assert without.waited_s is None
    assert without.waited_share is None


def test_write_amplification_leaves_the_wal_aside() -> None:
    at_end = moved(100 * MIB, flush_written_bytes=90 * MIB, compaction_written_bytes=210 * MIB, wal_bytes=999 * MIB)
    found = figures(run(at_end=at_end, drained=replace(at_end, compaction_written_bytes=410 * MIB)))
    assert found.write_amplification == 3
    assert found.write_amplification_drained == 5
    assert figures(run(at_end=replace(at_end, flush_written_bytes=None))).write_amplification is None
    assert figures(run(at_end=replace(at_end, user_written_bytes=0))).write_amplification is None


def test_own_bytes_need_every_part() -> None:
    assert own_device_bytes(moved(10, amplification=3)) == 40
    assert own_device_bytes(moved(wal_bytes=None)) is None


def test_processors_and_memory() -> None:
    found = figures(run(per_s=1000, seconds=10, database=Process(30.0, 7 * MIB, 5.0), daemon=Process(0.4, 8 * MIB)))
    assert found.cores == 0.5
    assert found.cpu_us_per_operation == 500
    assert found.cpu_s == 30
    assert found.peak_memory_bytes == 7 * MIB
    assert found.daemon_cores == 0.4 / 20
    without = figures(run(database=Process(30.0, 7 * MIB)))
    assert without.cores is None
    assert without.cpu_us_per_operation is None


def test_latencies_by_kind_and_together() -> None:
    operations = (
        Operations("read", 90, at(5, 90), at(1, 90), at(6, 90)),
        Operations("write", 10, at(50, 10), at(7, 10), at(57, 10)),
        Operations("scan", 0, LatencyHistogram((), 0)),
    )
    found = figures(run(operations=operations))
    assert [each.kind for each in found.latencies] == ["write", "read", ALL]
    every = found.latency(ALL)
    assert every is not None
    assert every.count == 100
    assert every.total is not None
    assert (every.total.p90_us, every.total.p99_us, every.total.max_us) == (6, 57, 57)
    assert found.latency("scan") is None
    assert MEASURES["write_queueing_p99_us"].of(found) == 7
    assert MEASURES["scan_total_p99_us"].of(found) is None


def test_what_never_started_counts_as_late_as_it_was() -> None:
    never = Operations("read", 0, LatencyHistogram((), 0), at(9_000_000, 4), at(9_000_000, 4))
    found = figures(run(operations=(never, Operations("write", 4, at(5, 4), at(1, 4), at(6, 4)))))
    assert found.operations == 4
    assert MEASURES["read_total_p50_us"].of(found) == 9_000_000
    assert MEASURES["read_processing_p50_us"].of(found) is None
    assert MEASURES["all_total_p99_us"].of(found) == 9_000_000


def test_one_kind_without_a_histogram_leaves_all_together_unmeasured() -> None:
    found = figures(run(operations=(Operations("read", 9, at(5, 9)), Operations("write", 9, None))))
    assert MEASURES["read_processing_p50_us"].of(found) == 5
    assert MEASURES["write_processing_p50_us"].of(found) is None
    assert MEASURES["all_processing_p50_us"].of(found) is None


def test_the_worst_second_is_a_whole_one() -> None:
    seconds = (
        Second(0, 100, 20, 100, 5000),
        Second(1, 40, 10, 100, 90_000),
        Second(2, 30, 30, 200, None),
        Second(3, 1, 0, 100, 100),
    )
    assert figures(run(seconds=3, measured_s=3.4)).worst is not None
    found = figures(replace(run(), seconds=seconds, measured_s=3.4))
    assert found.worst == WorstSecond(at_s=1, operations=50, of_offered=0.3, longest_us=90_000)
    assert figures(replace(run(), seconds=())).worst is None


def test_what_is_late_when_an_open_loops_load_has_ended_makes_no_worst_second() -> None:
    seconds = (Second(0, 100, 0, 100, 5000), Second(1, 40, 10, 100, 9000), Second(2, 1, 0, 100, 90_000))
    found = figures(replace(run(seconds=2, offered_per_s=100.0), seconds=seconds, measured_s=3.4))
    assert found.worst == WorstSecond(at_s=1, operations=50, of_offered=0.5, longest_us=90_000)


def test_what_was_done_of_what_was_offered() -> None:
    assert figures(run(per_s=900, offered_per_s=1000)).completed_share == 0.9
    assert figures(run(per_s=900)).completed_share is None
    unknown = replace(run(per_s=900, seconds=10, offered_per_s=2000), seconds=())
    assert figures(unknown).completed_share is None, "nobody knows what was done in time"


def test_what_is_done_after_the_load_is_not_done_in_time() -> None:
    late = (*(Second(at_s, 900, 0, 1000) for at_s in range(10)), Second(10, 1000, 0, 0))
    behind = replace(run(per_s=1000, seconds=10, offered_per_s=1000), seconds=late, measured_s=11.0)
    assert figures(behind).operations == 10_000
    assert figures(behind).completed_share == 0.9


def test_held_time_of_an_open_loop_is_that_of_its_load() -> None:
    """Else a run that stalls more, and so ends later, would have stalled for a smaller share of its time."""
    stalls = [held(4.0, begin_s=8.0), held(5.0, begin_s=13.0, condition="delayed")]
    behind = replace(run(seconds=10, offered_per_s=1000, stalls=stalls), measured_s=20.0)
    found = figures(replace(behind, decisions=(decided(9.0), decided(15.0))))
    assert found.held_s == {"stopped": {"memtable": 2.0}, "delayed": {}}
    assert (found.stopped_share, found.delayed_share, found.stalls) == (0.2, 0.0, 1)
    assert found.decisions_per_minute == 6
    closed = figures(replace(run(seconds=10, stalls=stalls), measured_s=20.0))
    assert (closed.stopped_share, closed.delayed_share, closed.stalls) == (0.2, 0.25, 2)


def test_held_more_in_the_second_half() -> None:
    def later(*stalls: RawStall) -> float:
        return figures(run(seconds=10, stalls=stalls)).held_later_share

    assert later() == 0
    assert later(held(2.0, begin_s=7.0)) == pytest.approx(0.4)
    assert later(held(2.0, begin_s=4.0)) == 0, "one second in either half"
    assert later(held(3.0, begin_s=1.0), held(1.0, begin_s=6.0, condition="delayed")) == pytest.approx(-0.4)


def test_decisions_and_reactions() -> None:
    decisions = (decided(2.0), decided(5.0, elapsed_s=0.04), decided(12.0, "mmo", "refused", None))
    stalls = [held(0.5, begin_s=1.5), held(0.5, begin_s=4.0), held(0.5, begin_s=6.0)]
    found = figures(run(seconds=10, decisions=decisions, stalls=stalls))
    assert found.decided == {("l0", "applied"): 2, ("mmo", "refused"): 1}
    assert found.decisions == 3
    assert found.decisions_per_minute == 12  # the third is in the drain
    assert found.reaction_s == 1.0  # of 0.5, 1 and 6
    assert found.unanswered_stalls == 0
    assert found.apply_s == pytest.approx(0.03)
    nothing = figures(run(stalls=stalls))
    assert nothing.reaction_s is None
    assert nothing.apply_s is None
    assert nothing.unanswered_stalls == 3


def test_a_decision_in_the_moment_of_a_stall_answers_it() -> None:
    assert reactions([1.0, 3.0], [decided(3.0), decided(1.0)]) == [0.0, 0.0]


def test_reads_afterwards_are_of_one_reader() -> None:
    after = (Operations("read", 4, histogram((100, 100, 2), (300, 300, 2))), Operations("write", 1, at(9)))
    assert figures(run(after=after)).reads_after_per_s == 5000
    assert figures(run()).reads_after_per_s is None
    assert figures(run(after=(Operations("read", 4, None),))).reads_after_per_s is None


def read_with(*samples: tuple[float, bool], span_s: tuple[float, float] | None = None) -> float | None:
    """Read once a second for ten seconds after a phase of ten, with compaction on or off in these samples."""
    seen = tuple(sampled(at_s, compaction_enabled=on) for at_s, on in samples)
    reads = Operations("read", 10, at(1_000_000, 10))
    asked = run(after=(reads,), samples=seen, settled=settled(20.6), after_span_s=span_s)
    return figures(asked).reads_after_per_s


def test_reads_beside_a_law_that_switched_compaction_on_again_have_no_figure() -> None:
    """The bench switches it off; half with it and half without is no figure of either."""
    assert read_with((9.5, True), (11.0, False), (19.0, False), (20.5, True)) == 1, "the last is the bench's own switch"
    assert read_with((11.0, False), (15.0, True), (19.0, False)) is None
    older = run(after=(Operations("read", 9, at(1_000_000, 9)),), samples=(sampled(15.0),), settled=None)
    assert figures(older).reads_after_per_s is None


def test_where_it_is_known_when_the_reads_went_on_only_that_time_counts() -> None:
    """The bench's own switches take their time: before the reads, and after them for the drain."""
    samples = ((10.2, True), (11.0, False), (19.0, False), (20.5, True))
    assert read_with(*samples) is None
    assert read_with(*samples, span_s=(10.4, 20.4)) == 1
    assert read_with(*samples, (15.0, True), span_s=(10.4, 20.4)) is None

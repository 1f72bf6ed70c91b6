"""What lies at the edge of a run's measured phase: what counts in it, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from adocd_bench.evaluation.raw import Process, Second
from adocd_bench.evaluation.report.accounting import figures
from adocd_bench.evaluation.report.percentiles import percentile_us

from tests.bench.evaluation.report.builders import MIB, decided, held, histogram, moved, run, sampled


def test_a_stall_from_before_the_phase_counts_for_its_time_in_it_and_begins_outside() -> None:
    clipped = replace(held(3.0, begin_s=-1.0), stalled_s=2.0)
    found = figures(run(seconds=10, stalls=[clipped], decisions=(decided(1.0),)))
    assert found.held_s["stopped"] == {"memtable": 2.0}
    assert found.stopped_share == pytest.approx(0.2)
    assert (found.stalls, found.unanswered_stalls, found.reaction_s) == (0, 0, None)


def test_a_decision_from_before_the_phase_is_none_of_its_decisions_a_minute() -> None:
    found = figures(run(seconds=10, decisions=(decided(-2.0), decided(2.0), decided(10.0), decided(10.5))))
    assert (found.decisions, found.decisions_per_minute) == (3, 12)


def test_what_a_law_decided_while_records_were_loaded_is_not_of_its_run() -> None:
    """Nor is how long it took there, without the cap."""
    loading = (decided(-3.0, "adoc.memory", elapsed_s=9.0), decided(-2.0, elapsed_s=9.0), decided(-1.0, elapsed_s=9.0))
    found = figures(run(seconds=10, decisions=(*loading, decided(0.0, elapsed_s=0.5), decided(12.0, elapsed_s=0.7))))
    assert found.decided == {("l0", "applied"): 2}
    assert found.decisions == 2
    assert found.apply_s == pytest.approx(0.6)


def test_the_debt_is_that_at_the_end_of_the_phase() -> None:
    at_end = moved(pending_compaction_bytes=700)
    assert figures(run(at_end=at_end, drained=moved(pending_compaction_bytes=5))).debt_bytes == 700


def test_the_debt_of_a_record_that_has_that_after_the_restore_is_its_last_samples() -> None:
    """Before 2026-11-28 the record had the first sample after the phase, up to 1.7 s later."""
    owing = [sampled(at_s, pending_compaction_bytes=each) for at_s, each in ((8.9, 5), (9.9, 0), (11.6, 1274 * MIB))]
    found = run(seconds=10, at_end=moved(pending_compaction_bytes=1274 * MIB), samples=tuple(owing))
    assert figures(found).debt_bytes == 0


def test_the_daemons_memory_is_its_own() -> None:
    found = figures(run(database=Process(1.0, 900), daemon=Process(1.0, 70)))
    assert (found.peak_memory_bytes, found.daemon_memory_bytes) == (900, 70)


def test_the_longest_operation_may_be_in_a_last_second_that_is_no_whole_one() -> None:
    seconds = (Second(0, 10, 0, None, 100), Second(1, 1, 0, None, 900_000))
    worst = figures(replace(run(), seconds=seconds, measured_s=1.5)).worst
    assert worst is not None
    assert (worst.at_s, worst.operations, worst.longest_us) == (0, 10, 900_000)


def test_what_was_offered_in_some_seconds_only_is_taken_from_the_rate() -> None:
    seconds = (Second(0, 10, 0, 20, None), Second(1, 10, 0, None, None))
    asked = run(per_s=10, seconds=2, offered_per_s=40)
    assert figures(replace(asked, seconds=seconds)).completed_share == 0.25


def test_a_rank_that_is_whole_is_not_rounded_up() -> None:
    """0.07 x 100 is 7.000000000000001."""
    assert percentile_us(histogram((1, 1, 7), (9, 9, 93)), 0.07) == 1

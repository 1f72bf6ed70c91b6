"""Samples that are kept are those that were added, without what is large."""

from __future__ import annotations

from dataclasses import replace

from adocd.daemon.watch.samples import Samples
from adocd.model.latency import WriteLatency
from adocd.model.overflow import Overflow
from adocd.model.sample import Sample
from adocd.model.snapshot import Counters, Event, OptionValues
from adocd.model.threads import ThreadsBy
from tests.builders import column_family, sample


def full(sequence: int) -> Sample:
    cf = replace(
        column_family(l0_files=20), stall_counts={"l0_stops": 3}, level_bytes=(1, 2**40), unknown=("memtables_bytes",)
    )
    return replace(
        sample(cf, replace(cf, name="other", overflow=(Overflow.MEMORY,))),
        sequence=sequence,
        threads_by=ThreadsBy.POOLS,
        overflow=(Overflow.LEVEL0, Overflow.MEMORY),
        counters=Counters(writes=2**63, stall_micros=None),
        writes_per_s=None,
        wal_bytes_per_s=0.25,
        write_latency=WriteLatency("agent sampler", sequence, 1e-5, 2e-6, 3e-4, 4e-3, 0.5, one_in=32),
    )


def test_what_is_kept_is_what_was_added() -> None:
    kept = Samples(10)
    added = [full(number) for number in range(3)]
    for each in added:
        kept.add(replace(each, options=OptionValues({"a": "1"}), events=(Event(1, 2.0, "stall"),), ticker_increases={}))
    left = [replace(each, options=OptionValues(), events=(), originals=None) for each in added]
    assert list(kept) == left
    for most in (3, 10, 2):
        kept.keep(most)
        assert (kept.most, list(kept)) == (most, left[-most:])
    kept.add(full(3))
    assert [each.sequence for each in kept] == [2, 3]


def test_only_so_many_are_kept_and_read_on_from_a_number() -> None:
    kept = Samples(5)
    for number in range(8):
        kept.add(full(number))
    assert len(kept) == 5
    assert [each.sequence for each in kept] == [3, 4, 5, 6, 7]
    assert [each.sequence for each in kept.newer(4, 2)] == [5, 6]
    assert list(kept.newer(7, 10)) == []
    going = kept.newer(0, 10)
    assert next(going).sequence == 3
    for number in range(8, 12):
        kept.add(full(number))
    assert [each.sequence for each in going] == [4, 5, 6, 7], "those that were kept when it was asked for"
    for number in range(1, 4):
        kept.add(full(number))
    assert [each.sequence for each in kept] == [10, 11, 1, 2, 3], "another session"
    assert [each.sequence for each in kept.newer(2, 10)] == [3]
    assert [each.sequence for each in kept.newer(11, 10)] == [1, 2, 3], "those of the other session were read already"
    assert list(kept.newer(3, 10)) == []
    kept.clear()
    assert list(kept) == []
    kept.add(full(1))
    assert [each.sequence for each in kept.newer(86_400, 10)] == [1]

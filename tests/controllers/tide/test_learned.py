"""What the law learns: the device's rate, the clients' peak, and whether anybody reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adocd.controllers.tide.learned import Learned
from adocd.model.sample import Sample
from tests.controllers.laws import MB, Plant

READ = "rocksdb.number.keys.read"


def seen(learned: Learned, plant: Plant, seconds: int = 30, **members: Any) -> Learned:
    for _ in range(seconds):
        learned.observe(replace(plant.sample(), **members))
    return learned


def working(flush: float, compaction: float, running: int = 1) -> dict[str, Any]:
    return {
        "flush_written_bytes_per_s": flush * MB,
        "compaction_written_bytes_per_s": compaction * MB,
        "running_compactions": running,
    }


def test_nothing_is_known_before_anything_is_measured() -> None:
    learned = Learned()
    blank: Sample = replace(Plant().sample(), flush_written_bytes_per_s=None, written_bytes_per_s=None)
    learned.observe(blank)
    assert (learned.device, learned.clients, learned.flushes) == (None, None, None)


def test_the_device_is_what_flushes_and_compactions_write_at_most() -> None:
    learned = seen(Learned(), Plant(), **working(60, 140))
    assert learned.device == pytest.approx(200 * MB, rel=0.01)
    # Without a compaction nothing asks for the whole device, so a lower rate says nothing.
    seen(learned, Plant(), 600, **working(20, 0, running=0))
    assert learned.device == pytest.approx(200 * MB, rel=0.01)


def test_a_slower_device_is_learned_within_minutes_while_a_compaction_runs() -> None:
    learned = seen(Learned(), Plant(), **working(60, 140))
    seen(learned, Plant(), 60, **working(10, 40))
    assert learned.device is not None
    assert 50 * MB < learned.device < 120 * MB, "one time constant: 50 + 150 / e"
    seen(learned, Plant(), 240, **working(10, 40))
    assert learned.device < 60 * MB


def merging(learned: Learned, plant: Plant, seconds: int, *, every_s: int, device: float) -> list[float]:
    """Let a compaction write 80 % of a device, and have its bytes counted only every so often; what is learned."""
    found = []
    for second in range(1, seconds + 1):
        counted = 0.8 * device * every_s if second % every_s == 0 else 0.0
        found.append(seen(learned, plant, 1, **working(0.2 * device, counted)).device or 0.0)
    return found


@pytest.mark.parametrize("every_s", [1, 2, 8, 30])
def test_large_values_are_counted_rarely_and_the_device_is_no_faster_for_that(every_s: int) -> None:
    """RocksDB counts what a compaction writes once in a thousand records: with values of 100 kB that is 100 MB."""
    found = merging(Learned(), Plant(), 240, every_s=every_s, device=100)
    assert max(found) < 110 * MB
    assert found[-1] == pytest.approx(100 * MB, rel=0.1)


def test_a_slower_device_is_learned_from_rare_counts_too() -> None:
    plant = Plant()
    learned = Learned()
    merging(learned, plant, 240, every_s=8, device=100)
    assert merging(learned, plant, 300, every_s=8, device=30)[-1] < 40 * MB


def test_a_compaction_that_is_counted_when_it_ends_took_all_the_time_since_it_began() -> None:
    learned = Learned()
    seen(learned, Plant(), 5, **working(20, 0))
    seen(learned, Plant(), 1, **working(20, 6 * 80, running=0))
    assert learned.device == pytest.approx(100 * MB, rel=0.01)


def test_the_clients_peak_fades_within_minutes() -> None:
    learned = seen(Learned(), Plant(), written_bytes_per_s=100.0 * MB)
    seen(learned, Plant(), 300, written_bytes_per_s=1.0 * MB)
    assert learned.clients == pytest.approx(100 * MB / 2.718, rel=0.05)
    assert learned.writes == pytest.approx(1 * MB, rel=0.01)


@pytest.mark.parametrize(("reads_per_s", "matter"), [(0, False), (50, False), (150, True)])
def test_reads_matter_from_a_share_of_the_writes_on(reads_per_s: int, matter: bool) -> None:
    plant = Plant()
    plant.tickers = {READ: reads_per_s}
    learned = seen(Learned(), plant, writes_per_s=10_000.0)
    assert learned.reads_matter(0.01) is matter


def test_few_reads_do_not_become_many_because_writers_are_stopped() -> None:
    plant = Plant()
    plant.tickers = {READ: 50}
    learned = seen(Learned(), plant, writes_per_s=10_000.0)
    assert not seen(learned, plant, 60, writes_per_s=0.0).reads_matter(0.01)
    plant.tickers = {READ: 150}
    assert seen(learned, plant, writes_per_s=0.0).reads_matter(0.01)


def test_without_statistics_reads_are_taken_for_granted() -> None:
    plant = Plant()
    plant.tickers = None
    assert seen(Learned(), plant, writes_per_s=10_000.0).reads_matter(0.01)


@pytest.mark.parametrize(("immutable", "rate"), [(2, None), (3, None), (4, 60 * MB)])
def test_what_flushes_write_counts_while_memtables_wait_for_them(immutable: int, rate: float | None) -> None:
    """A flush of three begins at the third: until then nothing asks for more."""
    plant = Plant(min_write_buffer_number_to_merge="3", max_write_buffer_number="6")
    plant.immutable_memtables = immutable
    assert seen(Learned(), plant, **working(60, 0, running=0)).flushes == rate

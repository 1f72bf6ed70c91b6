"""What db_bench says, counts at any moment, what a process used, and what a device reaches."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.errors import BadArgument, RunFailed
from adocd_bench.evaluation.counted import Counted
from adocd_bench.evaluation.loads import closed_loop
from adocd_bench.host import bandwidth
from adocd_bench.host.bandwidth import DeviceBandwidth
from adocd_bench.host.device import MB, DeviceProfile, parse_profile
from adocd_bench.host.usage import usage_of
from adocd_bench.run.observe import Tick

from adocd.model.snapshot import Counters
from tests.controllers.laws import Plant

#: Of 7.8.3, shortened: a load, then the measured benchmark.
SAID = """\
DB path: [/tmp/db]
filluniquerandom :       6.735 micros/op 148479 ops/sec 0.842 seconds 125000 operations;  143.9 MB/s
Microseconds per write:
Count: 125000 Average: 6.7350  StdDev: 76.32
Min: 2  Median: 4.3708  Max: 9135
------------------------------------------------------
(       2,       3 ]   125000  100.000%  100.000% ##

waitforcompaction(/tmp/db): started
waitforcompaction(/tmp/db): finished
overwrite    :      49.602 micros/op 20160 ops/sec 8.064 seconds 162577 operations;   19.5 MB/s
Microseconds per write:
Count: 162577 Average: 49.6020  StdDev: 76.32
Min: 0  Median: 4.3708  Max: 801854
Percentiles: P50: 4.37 P75: 5.49 P99: 12.87 P99.9: 99.26 P99.99: 4260.00
------------------------------------------------------
[       0,       1 ]        5   0.003%   0.003%
(       1,       2 ]   162000  99.645%  99.648% ####
(  570000,  860000 ]      572   0.352% 100.000%

waitforcompaction(/tmp/db): started
"""


def test_the_measured_benchmarks_result_and_histogram_are_read_not_the_loads() -> None:
    assert closed_loop.result(SAID, "overwrite") == (8.064, 162577)
    histogram = closed_loop.histogram_of(SAID, "overwrite")
    assert histogram is not None
    assert histogram.buckets == ((0, 1, 5), (2, 2, 162000), (570001, 860000, 572))
    assert histogram.max_us == 801854
    assert sum(count for _, _, count in histogram.buckets) == 162577


def test_no_result_is_told_with_what_was_said_last() -> None:
    with pytest.raises(RunFailed, match="no result of fillrandom; the last it said was: put error: No space left"):
        closed_loop.result("DB path: [/tmp/db]\nput error: No space left\n", "fillrandom")
    assert closed_loop.histogram_of("overwrite : 1 micros/op\n", "overwrite") is None


def test_a_second_that_was_skipped_has_none_and_a_torn_line_does_not_count(tmp_path: Path) -> None:
    report = tmp_path / "seconds.csv"
    report.write_text("secs_elapsed,interval_qps\n1,10\n3,30\n4,")
    assert closed_loop.by_second(report) == [10, 0, 30]
    report.write_text("")
    assert closed_loop.by_second(report) == []


def ticks(*counted: tuple[float, int]) -> tuple[Tick, ...]:
    plant = Plant()
    samples = [(at_s, count, plant.sample(1.0)) for at_s, count in counted]
    return tuple(
        Tick(replace(sample, monotonic_s=at_s, counters=Counters(writes=count, flush_written_bytes=10 * count)), "")
        for at_s, count, sample in samples
    )


def test_counts_grow_evenly_between_samples_and_from_none_before_the_first() -> None:
    fresh = Counted(ticks((101.0, 100), (102.0, 300)), 100.0)
    assert [fresh.at(at_s, "writes") for at_s in (0.0, 1.0, 1.5, 2.0, 9.0)] == [0, 100, 200, 300, 300]
    loaded = Counted(ticks((101.0, 100), (102.0, 300), (103.0, 300)), 101.5)
    assert loaded.at(0.5, "writes") == 100


def test_what_clients_wrote_is_read_after_the_phase_and_flushes_at_its_end() -> None:
    counted = Counted(ticks((101.0, 100), (102.0, 200), (103.0, 260), (104.0, 260)), 100.0)
    assert counted.at_end_of(2.5, "writes") == 260
    loaded = Counted(ticks((101.0, 900), (102.0, 900), (103.0, 1500), (104.0, 1600), (105.0, 1600)), 102.9)
    assert loaded.at_end_of(1.5, "writes") == 700, "nobody wrote between the load and the phase"
    moved = counted.moved(2.5, 2.5)
    assert moved.flush_written_bytes == 2300
    assert moved.wal_bytes is None
    assert moved.user_written_bytes is None


def test_a_process_that_has_ended_used_nothing_that_can_be_read() -> None:
    mine = usage_of(os.getpid())
    assert mine is not None
    assert mine.cpu_s > 0
    assert mine.peak_rss_bytes > 1 << 20
    assert usage_of(2**22 + 1) is None


def test_the_device_is_measured_with_direct_io_and_nothing_is_left(disk: Path) -> None:
    try:
        os.close(os.open(disk / "direct", os.O_WRONLY | os.O_CREAT | os.O_DIRECT))
        direct = True
    except OSError:
        direct = False
    (disk / "direct").unlink(missing_ok=True)
    found = bandwidth.measure(disk, 0.2)
    assert (found is not None) == direct
    assert found is None or min(found.write_bytes_per_s, found.read_bytes_per_s) > 0
    assert not list(disk.iterdir())


@pytest.mark.parametrize(
    ("profile", "sentence"),
    [
        (parse_profile("cap-300"), "cap-300 is above what this device can write, 200 MB/s as measured: choose a lower"),
        (DeviceProfile("cap-150", 150 * MB, 150 * MB), "cap-150 is above what this device can read, 100 MB/s"),
    ],
)
def test_a_cap_that_caps_nothing_is_refused(profile: DeviceProfile, sentence: str) -> None:
    with pytest.raises(BadArgument, match=sentence):
        bandwidth.refuse_above(profile, DeviceBandwidth(200.0 * MB, 100.0 * MB))
    bandwidth.refuse_above(profile, None)
    bandwidth.refuse_above(parse_profile("uncapped"), DeviceBandwidth(1.0, 1.0))

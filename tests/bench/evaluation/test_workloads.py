"""The workloads: each makes its program, and what it is told fits together."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from adocd_bench.errors import BadArgument, RunFailed
from adocd_bench.evaluation.circumstances import Circumstances
from adocd_bench.evaluation.loads import workloads
from adocd_bench.evaluation.loads.closed_loop import DbBenchLoad
from adocd_bench.evaluation.loads.generated import GeneratedLoad
from adocd_bench.evaluation.loads.program import LoadJob
from adocd_bench.evaluation.loads.workloads import RECORDS, WORKLOADS, LoadAsked
from adocd_bench.evaluation.plan import RunsAsked
from adocd_bench.evaluation.schemes import SCHEMES
from adocd_bench.evaluation.search import two_phase
from adocd_bench.evaluation.setting import _least_bytes, _room_bytes, program
from adocd_bench.host.device import UNCAPPED, parse_profile
from adocd_bench.host.usage import Usage
from adocd_bench.load.arrivals import mean_per_s, total_s
from adocd_bench.load.spec import ClosedArrivals, Drain, KeyChoice, Mix, OpenArrivals, Work
from adocd_bench.programs.db_bench import DbBench
from adocd_bench.programs.native import NativeProgram
from adocd_bench.run.observe import ObservedRun
from adocd_bench.run.settle import SETTLED_WITHIN_S
from adocd_bench.run.workspace import needed_bytes

from adocd.model.snapshot import OptionValues

OPEN = (
    "constant",
    "two-phase",
    "burst",
    "burst-lapse",
    "sine",
    "sine-350",
    "sine-1000",
    "peaks-10",
    "peaks-100",
    "peaks-50-4kb",
)


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the orders are looked at here, and none is carried out."""
    monkeypatch.setattr(NativeProgram, "find_or_build", lambda *_: Path("/usr/bin/adocd-load"))


def made(name: str, scale: int = 1, rate_per_s: float | None = None, seconds: int = 60) -> GeneratedLoad:
    load = workloads.workload(name).program(LoadAsked(seconds, scale, rate_per_s))
    assert isinstance(load, GeneratedLoad)
    return load


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in {"constant", "two-phase"}])
def test_every_workload_makes_a_program_that_says_how_long_it_is(name: str) -> None:
    load = workloads.workload(name).program(LoadAsked(60, 4))
    assert load.seconds == {"sine-350": 350, "sine-700": 700, "sine-1000": 1000, "trace-bursts-4kb": 600}.get(name, 60)
    assert (load.offered_per_s is not None) == (name in OPEN or name.startswith(("sine", "peaks", "trace")))


@pytest.mark.parametrize("name", OPEN)
def test_open_loops_offer_for_as_long_as_they_say(name: str) -> None:
    load = made(name, rate_per_s=100.0 if name in {"constant", "two-phase"} else None)
    assert isinstance(load.work.arrivals, OpenArrivals)
    assert total_s(load.work.arrivals.steps) == pytest.approx(load.seconds)
    assert mean_per_s(load.work.arrivals.steps) == pytest.approx(load.offered_per_s)
    assert load.offered_bytes == round((load.offered_per_s or 0) * load.seconds) * (16 + load.value_bytes)


def test_a_scale_divides_rates_and_records_and_leaves_a_rate_that_was_given() -> None:
    for name in ("burst", "sine-350", "peaks-50"):
        one, four = made(name), made(name, 4)
        assert one.offered_per_s == pytest.approx(4 * (four.offered_per_s or 0))
        assert one.work.keys.records == 4 * four.work.keys.records
    assert made("constant", 4, 100.0).offered_per_s == pytest.approx(100.0)


def test_silks_peaks_have_the_same_bytes_in_records_of_a_block() -> None:
    small, large = made("peaks-100"), made("peaks-100-4kb")
    assert small.work.operations == large.work.operations
    for each in (small, large):
        assert (each.offered_per_s or 0) * each.value_bytes == pytest.approx(35e6)
        assert each.work.keys.records * each.value_bytes == 4 * 10**9


def test_the_thesiss_wave_is_125_mb_a_second_and_10_in_its_tail() -> None:
    wave, tail = made("sine-350"), made("sine-1000")
    assert (wave.offered_per_s or 0) * wave.value_bytes == pytest.approx(125e6)
    assert isinstance(tail.work.arrivals, OpenArrivals)
    last = tail.work.arrivals.steps[-1]
    assert (last.seconds, last.operations_per_s * tail.value_bytes) == (650, 10e6)


def test_a_burst_in_time_lapse_has_the_records_of_one_in_its_own_time() -> None:
    own, lapsed = made("burst", 4, seconds=3600), made("burst-lapse", 4, seconds=120)
    assert isinstance(own.work.arrivals, OpenArrivals)
    assert isinstance(lapsed.work.arrivals, OpenArrivals)
    for slow, fast in zip(own.work.arrivals.steps, lapsed.work.arrivals.steps, strict=True):
        assert slow.seconds * slow.operations_per_s == pytest.approx(fast.seconds * fast.operations_per_s)
        assert slow.seconds == pytest.approx(30 * fast.seconds)
    assert made("burst-lapse", 4, seconds=7200).work == made("burst", 4, seconds=7200).work


def test_ycsb_is_a_closed_loop_and_open_with_a_rate() -> None:
    assert isinstance(made("ycsb-a").work.arrivals, ClosedArrivals)
    assert isinstance(made("ycsb-a", rate_per_s=10.0).work.arrivals, OpenArrivals)


def test_a_database_is_loaded_settles_is_measured_and_drained(tmp_path: Path) -> None:
    scheme = SCHEMES["auto-tuned"].used(Circumstances(4, 50_000_000))
    spec = made("burst", 4).spec(LoadJob(tmp_path / "db", tmp_path, 60, 7, scheme))
    assert [phase.name for phase in spec.phases] == ["load", "settle", "gather", "measured", "drain"]
    assert (spec.rate_limiter_bytes_per_s, spec.auto_tuned, spec.seed) == (50_000_000, True, 7)
    assert spec.options["write_buffer_size"] == str(16 << 20)


def test_a_program_that_loads_says_when_it_is_done_and_one_that_does_not_is_measured_at_once(tmp_path: Path) -> None:
    job = LoadJob(tmp_path / "db", tmp_path, 60, 7, SCHEMES["default"].used(Circumstances()))
    loading, wave = made("burst", 4), made("sine")
    output = tmp_path / f"{loading.name}.out"
    said = []
    for text in (None, "", "phase load\n", "phase load\nphase settle\n", "phase load\nphase settle\nphase measured\n"):
        if text is not None:
            output.write_text(text)
        said.append(loading.is_preparing(job))
        assert not wave.is_preparing(job)
    assert said == [True, True, True, True, False]


def test_ycsb_reads_each_record_once_before_it_is_measured_as_part_of_the_preparation(tmp_path: Path) -> None:
    job = LoadJob(tmp_path / "db", tmp_path, 60, 7, SCHEMES["default"].used(Circumstances()))
    for load in (made("ycsb-b", 16), made("ycsb-b", 16, rate_per_s=10.0)):
        _, _, reading, _, measured, _ = load.spec(job).phases
        assert isinstance(reading, Work)
        assert (reading.arrivals, reading.operations) == (ClosedArrivals(count=RECORDS // 16), Mix(read=1.0))
        assert reading.keys == KeyChoice("sequential", RECORDS // 16)
        assert not reading.measured
        output = tmp_path / f"{load.name}.out"
        output.write_text(f"phase load\nphase settle\nphase {reading.name}\n")
        assert load.is_preparing(job)
        output.write_text(f"phase load\nphase settle\nphase {reading.name}\nphase {measured.name}\n")
        assert not load.is_preparing(job)


def test_after_all_preparation_it_waits_until_it_is_told_to_begin(tmp_path: Path) -> None:
    job = LoadJob(tmp_path / "db", tmp_path, 60, 7, SCHEMES["default"].used(Circumstances()))
    load = made("ycsb-b", 16)
    assert [phase.name for phase in load.spec(job).phases] == [
        "load", "settle", "read-once", "gather", "measured", "drain",
    ]  # fmt: skip
    gather = load.spec(job).phases[3]
    assert isinstance(gather, Drain)
    assert gather.until is not None
    output = tmp_path / f"{load.name}.out"
    output.write_text("phase load\nphase settle\nphase read-once\n")
    assert not load.is_gathered(job)
    output.write_text("phase load\nphase settle\nphase read-once\nphase gather\n")
    assert load.is_gathered(job)
    assert load.is_preparing(job)
    assert not gather.until.exists()
    load.begin(job)
    assert gather.until.exists()
    assert not load.is_gathered(job)
    assert load.is_preparing(job), "until its next phase has begun"
    assert load.gathers
    assert not made("sine").gathers, "it loads nothing"


def test_a_program_is_settled_from_when_its_clients_have_stopped_until_it_is_told(tmp_path: Path) -> None:
    job = LoadJob(tmp_path / "db", tmp_path, 60, 7, SCHEMES["default"].used(Circumstances()))
    load = made("burst", 4)
    output, drain = tmp_path / f"{load.name}.out", load.spec(job).phases[-1]
    output.write_text("phase load\nphase settle\nphase measured\n")
    assert not load.is_settling(job)
    output.write_text("phase load\nphase settle\nphase measured\nphase drain\n")
    assert load.is_settling(job)
    assert isinstance(drain, Drain)
    assert drain.until is not None
    assert not drain.until.exists()
    load.release(job)
    assert drain.until.exists()


def test_db_bench_prepares_until_the_measured_benchmark_begins_its_report(tmp_path: Path) -> None:
    job = LoadJob(tmp_path / "db", tmp_path, 60, 7, SCHEMES["default"].used(Circumstances()))
    load = DbBenchLoad(DbBench("db_bench", "7.8.3"), "overwrite", 60, 1000)
    output, report = tmp_path / "db_bench.out", tmp_path / "seconds.csv"

    def written(file: Path, text: str, at_s: int) -> bool:
        file.write_text(text)
        os.utime(file, (at_s, at_s))
        return load.is_preparing(job)

    loaded = "DB path: [/db]\nfilluniquerandom : 9 ops/sec\n"
    assert load.is_preparing(job), "it has not said anything yet"
    assert written(report, "secs_elapsed,interval_qps\n1,9\n", 100), "it loads"
    assert written(output, loaded, 101), "it waits for compactions"
    assert not written(report, "secs_elapsed,interval_qps\n", 106), "the measured benchmark has begun"
    assert not written(output, f"{loaded}overwrite : 9 ops/sec\n", 170), "it is over"
    assert not DbBenchLoad(DbBench("db_bench", "7.8.3"), "fillrandom", 60).is_preparing(job), "it loads nothing"


def test_db_bench_is_settled_from_its_result_on(tmp_path: Path) -> None:
    job = LoadJob(tmp_path / "db", tmp_path, 60, 7, SCHEMES["default"].used(Circumstances()))
    load = DbBenchLoad(DbBench("db_bench", "7.8.3"), "overwrite", 60, 1000)
    output = tmp_path / "db_bench.out"
    assert not load.is_settling(job)
    output.write_text("Set seed to 1\nfilluniquerandom : 3.0 micros/op\nwaitforcompaction(/db): started\n")
    assert not load.is_settling(job)
    output.write_text(output.read_text() + "overwrite    :      30.604 micros/op 32674 ops/sec\n")
    assert load.is_settling(job)
    assert not replace(load, drained=False).is_settling(job)
    (benchmarks,) = (flag for flag in load.command(job) if flag.startswith("--benchmarks=") and "overwrite" in flag)
    assert benchmarks.endswith("overwrite,flush,waitforcompaction,waitforcompaction")


def test_after_the_wave_it_is_read_and_then_drained(tmp_path: Path) -> None:
    load = made("sine-350")
    job = LoadJob(tmp_path / "db", tmp_path, 350, 1, SCHEMES["default"].used(Circumstances()))
    spec = load.spec(job)
    assert [phase.name for phase in spec.phases] == ["measured", "reads", "drain"]
    reads, drain = spec.phases[1:3]
    assert isinstance(reads, Work)
    output = tmp_path / f"{load.name}.out"
    output.write_text("phase measured\n")
    assert not load.is_to_read(job)
    output.write_text("phase measured\nphase reads\n")
    assert load.is_to_read(job), "it waits until compaction is off"
    assert reads.waits_for is not None
    assert not reads.waits_for.exists()
    load.admit_reads(job)
    assert reads.waits_for.exists()
    assert not load.is_to_read(job)
    assert isinstance(drain, Drain)
    assert drain.until is not None


def test_when_the_reads_after_the_wave_went_on_is_known(tmp_path: Path) -> None:
    """The bench switches compaction off before them and on after them, which takes its time."""
    job = LoadJob(tmp_path / "db", tmp_path, 350, 1, SCHEMES["default"].used(Circumstances()))
    none = {"max_us": 9, "buckets": [[1, 9, 3]]}
    done: dict[str, Any] = {"operations_by_kind": {"read": {"count": 3, "processing": none}}}
    phases = [
        phase("measured", 100.0, 350.0, measured=True, **done),
        phase("reads", 450.5, 29.0, **done),
        phase("drain", 480.0, 5.0, drain={"reached": True, "pending_compaction_bytes": 0}),
    ]
    content = {"format": 1, "interrupted": False, "rocksdb_version": "7.8.3", "cpu_s": 1.0, "peak_rss_bytes": 1}
    (tmp_path / "load-result.json").write_text(json.dumps({**content, "phases": phases}))
    seen = ObservedRun("", (), (), OptionValues(), (), {}, Usage(0.0, 0, 0), 0.0)
    outcome = made("sine-350").outcome(job, seen)
    assert outcome.after_span_monotonic_s == (450.5, 479.5)
    assert (outcome.begin_monotonic_s, outcome.clients_ended_monotonic_s) == (100.0, 480.0)
    assert [each.count for each in outcome.after] == [3]
    (tmp_path / "load-result.json").write_text(json.dumps({**content, "phases": [phases[0], phases[2]]}))
    assert made("burst").outcome(job, seen).after_span_monotonic_s is None


def test_a_load_that_was_not_compacted_in_time_is_no_beginning(tmp_path: Path) -> None:
    """Schemes whose rate limiter holds compactions back would begin the measured phase with debt."""
    job = LoadJob(tmp_path / "db", tmp_path, 60, 1, SCHEMES["default"].used(Circumstances()))
    none = {"max_us": 9, "buckets": [[1, 9, 3]]}
    done: dict[str, Any] = {"operations_by_kind": {"read": {"count": 3, "processing": none}}}
    phases = [
        phase("settle", 100.0, 660.0, drain={"reached": False, "pending_compaction_bytes": 1 << 30}),
        phase("measured", 760.0, 60.0, measured=True, **done),
    ]
    content = {"format": 1, "interrupted": False, "rocksdb_version": "7.8.3", "cpu_s": 1.0, "peak_rss_bytes": 1}
    (tmp_path / "load-result.json").write_text(json.dumps({**content, "phases": phases}))
    seen = ObservedRun("", (), (), OptionValues(), (), {}, Usage(0.0, 0, 0), 0.0)
    with pytest.raises(RunFailed, match="what was loaded had not been compacted within 660 s"):
        made("ycsb-a").outcome(job, seen)
    never = replace(job, scheme=SCHEMES["compaction-disabled"].used(Circumstances()))
    assert made("ycsb-a").outcome(never, seen).measured_s == 60.0, "it never has nothing to do"


def phase(name: str, begin_s: float, seconds: float, *, measured: bool = False, **members: Any) -> dict[str, object]:
    """Tell a phase as the generator does."""
    times = {"begin_monotonic_s": begin_s, "begin_unix_s": begin_s, "seconds": seconds, "cpu_s": 0.0}
    return {"name": name, "measured": measured, **times, **members}


def test_the_bench_ends_a_drain_and_not_the_program(tmp_path: Path) -> None:
    """The program gave up a moment earlier: it closed its database under the bench, and the run was lost."""
    spec = made("burst").spec(LoadJob(tmp_path / "db", tmp_path, 60, 1, SCHEMES["default"].used(Circumstances())))
    drain = spec.phases[-1]
    assert isinstance(drain, Drain)
    assert drain.at_most_s > SETTLED_WITHIN_S + 10


def test_the_testing_phase_is_a_closed_loop_of_one_writer_behind_a_warm_up() -> None:
    running = made("two-phase", rate_per_s=1.0)
    testing = two_phase.testing_phase(running, 120)
    assert testing.work.arrivals == ClosedArrivals(seconds=100)
    assert testing.warm_up is not None
    assert testing.warm_up.arrivals == ClosedArrivals(seconds=20)
    assert testing.work.threads == 1
    assert testing.offered_per_s is None


def test_phases_of_a_search_are_not_drained(tmp_path: Path) -> None:
    job = LoadJob(tmp_path / "db", tmp_path, 60, 7, SCHEMES["default"].used(Circumstances()))
    running = two_phase.running_phase(made("two-phase", rate_per_s=100.0))
    for load, phases in (
        (running, ["load", "settle", "gather", "measured"]),
        (two_phase.testing_phase(running, 120), ["load", "settle", "gather", "warm-up", "measured"]),
    ):
        assert [phase.name for phase in load.spec(job).phases] == phases
        (tmp_path / f"{load.name}.out").write_text("".join(f"phase {name}\n" for name in phases))
        assert not load.is_settling(job)
    assert running.offered_per_s == pytest.approx(100.0)


def test_a_device_for_a_rate_that_is_yet_to_be_found_holds_what_the_baseline_can_write() -> None:
    asked, cap = RunsAsked(("default",), ("cap-26",), ("two-phase",), 600, 1, 8), parse_profile("cap-26")
    loaded = 3 * 500_000 * 1016
    assert _room_bytes(asked, "two-phase", cap) == needed_bytes(600, cap, 8, 26_000_000 * 300) + loaded
    assert _room_bytes(asked, "two-phase", UNCAPPED) == needed_bytes(600, UNCAPPED, 8) + loaded


def test_the_smallest_device_for_a_closed_loop_holds_what_is_written_there_and_in_a_flush() -> None:
    asked, cap = RunsAsked(("default",), ("cap-13",), ("fillrandom",), 300, 1, 16), parse_profile("cap-13")
    assert _least_bytes(asked, "fillrandom", cap) == needed_bytes(300, cap, 16, 13_000_000 * 150)
    assert _least_bytes(asked, "fillrandom", cap) < 6e9 < _room_bytes(asked, "fillrandom", cap)
    outside = parse_profile("cap-13-wal-outside")
    assert _least_bytes(asked, "fillrandom", outside) == _room_bytes(asked, "fillrandom", outside)


def test_the_smallest_device_for_a_rate_holds_what_arrives() -> None:
    asked, cap = (
        RunsAsked(("default",), ("cap-210",), ("constant",), 300, 1, 16, rate_per_s=100.0),
        parse_profile("cap-210"),
    )
    assert _least_bytes(asked, "constant", cap) == _room_bytes(asked, "constant", cap)


def test_a_workload_that_finds_its_rate_takes_no_other() -> None:
    asked = RunsAsked(("default",), ("cap-50",), ("two-phase",), 60, 1)
    assert program(asked, "two-phase", 123.0).offered_per_s == pytest.approx(123.0)
    with pytest.raises(BadArgument, match="two-phase finds its own rate: omit --rate"):
        program(RunsAsked(("default",), ("cap-50",), ("two-phase",), 60, 1, rate_per_s=5.0), "two-phase")


@pytest.mark.parametrize("name", ["fillrandom", "burst", "sine", "peaks-10"])
def test_a_rate_is_refused_where_it_means_nothing(name: str) -> None:
    with pytest.raises(BadArgument, match=f"{name}.* takes no --rate"):
        workloads.workload(name).program(LoadAsked(60, 1, 5.0))


def test_our_trace_is_as_the_silk_paper_says_of_its_own() -> None:
    """Section 6.2: valleys of 5 to 20 s, 15 on average; nine peaks of ten last 10 to 20 s, and none above 400 s."""
    load = made("trace-bursts-4kb")
    assert isinstance(load.work.arrivals, OpenArrivals)
    *steps, rest = load.work.arrivals.steps
    valleys, peaks = steps[::2], steps[1::2]
    assert all(5 <= each.seconds <= 20 and each.operations_per_s < 1000 for each in [*valleys, rest])
    assert sum(each.seconds for each in valleys) / len(valleys) == pytest.approx(15, abs=0.5)
    short = [each for each in peaks if 10 <= each.seconds <= 20]
    assert len(short) / len(peaks) == pytest.approx(0.9, abs=0.05)
    assert all(100 < each.seconds <= 400 for each in peaks if each not in short)
    mix = load.work.operations
    assert (mix.update, mix.read, mix.scan) == (0.57, 0.41, 0.02)


def test_a_trace_is_a_workload(tmp_path: Path) -> None:
    file = tmp_path / "day.csv"
    file.write_text("seconds,operations_per_s\n10,100\n20,400\n")
    load = made(f"trace:{file}", 2)
    assert load.seconds == 30
    assert load.offered_per_s == pytest.approx(150.0)

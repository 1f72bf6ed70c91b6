"""The load generator itself, on a real RocksDB: what it offers, carries out, counts and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from adocd_bench.evaluation.raw import LatencyHistogram, Operations
from adocd_bench.load.arrivals import ArrivalStep, constant
from adocd_bench.load.build import GENERATOR
from adocd_bench.load.result import LoadResult, read_result
from adocd_bench.load.spec import ClosedArrivals, Drain, KeyChoice, LoadSpec, Mix, OpenArrivals, Work
from adocd_bench.load.ycsb import CORE
from adocd_bench.run.child import child

from adocd.probes.log import read_log
from adocd.probes.log.events import CompactionFinished
from tests.conftest import REPOSITORY
from tests.docs.markdown import blocks
from tests.support.agent_client import AgentClient
from tests.support.waiting import PATIENCE_S, eventually

RECORDS = 2000
LOAD = Work("load", ClosedArrivals(count=RECORDS), Mix(update=1), KeyChoice("sequential", RECORDS))
WRITES = Mix(update=1)
#: With flushes of 2 MB/s: memtables of 1 MiB, of which one more is allowed while one is flushed.
SLOW = {"write_buffer_size": 1 << 20, "max_write_buffer_number": 2, "delayed_write_rate": 1 << 30}

#: Between the wall clock that a phase's begin is read from and the one of a line in the LOG.
CLOCKS_APART_S = 0.05

Run = Callable[..., LoadResult]


@pytest.fixture(scope="module")
def program() -> Path:
    """The generator, compiled if need be."""
    return GENERATOR.find_or_build()


def spec(disk: Path, *phases: Work | Drain, **settings: Any) -> LoadSpec:
    return LoadSpec(disk / "db", disk / "result.json", phases, **({"create": True} | settings))


def command(program: Path, asked: LoadSpec) -> list[str]:
    """Write the spec, and give the command line for it."""
    file = asked.result.with_name("spec.json")
    file.write_text(asked.to_json())
    return [str(program), str(file)]


@pytest.fixture
def run(program: Path, disk: Path) -> Run:
    """Carry a spec out to its end."""

    def run(*phases: Work | Drain, **settings: Any) -> LoadResult:
        asked = spec(disk, *phases, **settings)
        done = subprocess.run(command(program, asked), capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        return read_result(asked.result)

    return run


def fast(name: str, arrivals: OpenArrivals | ClosedArrivals, **more: Any) -> Work:
    return Work(name, arrivals, WRITES, KeyChoice("uniform", RECORDS), **more)


def total(histogram: LatencyHistogram | None) -> int:
    assert histogram is not None
    return sum(count for _, _, count in histogram.buckets)


def share_above(histogram: LatencyHistogram | None, us: int) -> float:
    assert histogram is not None
    return sum(count for lowest, _, count in histogram.buckets if lowest >= us) / total(histogram)


def of(operations: Sequence[Operations], kind: str) -> Operations:
    (found,) = (each for each in operations if each.kind == kind)
    return found


def test_steps_are_honoured_by_the_second(run: Run) -> None:
    steps = (ArrivalStep(1, 500), ArrivalStep(1, 2000), ArrivalStep(1, 0), ArrivalStep(1, 250))
    measured = run(fast("run", OpenArrivals(steps), threads=4, measured=True)).measured
    seconds = measured.raw_seconds
    assert [second.offered for second in seconds][:4] == [500, 2000, 0, 250]
    # The machine may hold them up for a moment, and then they end a second later; none is early.
    done = list(accumulate(second.writes for second in seconds))
    assert done[-1] == 2750
    assert len([second for second in seconds if second.writes]) > 1, "not all at once"
    assert [ended for ended, due in zip(done, (500, 2500, 2500, *[2750] * 99), strict=False) if ended > due] == []
    (writes,) = measured.operations
    assert writes.count == total(writes.processing) == total(writes.queueing) == total(writes.total) == 2750
    assert measured.not_started == 0
    assert measured.seconds >= 4


@pytest.fixture(scope="module")
def stalled(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, LoadResult]:
    """The same database, too slow for what is asked, in an open and in a closed loop."""
    results = {}
    loops: Mapping[str, OpenArrivals | ClosedArrivals] = {
        "open": OpenArrivals(constant(4000, 3), overrun_at_most_s=0.5),
        "closed": ClosedArrivals(seconds=3),
    }
    for name, loop in loops.items():
        phase = Work("run", loop, WRITES, KeyChoice("uniform", 100_000), threads=4, measured=True)
        room = tmp_path_factory.mktemp(name)
        asked = spec(room, phase, options=SLOW, rate_limiter_bytes_per_s=2_000_000)
        subprocess.run(command(program, asked), check=True, capture_output=True, timeout=60)
        results[name] = read_result(asked.result)
    return results


def test_a_stall_makes_those_behind_it_late(stalled: Mapping[str, LoadResult]) -> None:
    writes = of(stalled["open"].measured.operations, "write")
    assert share_above(writes.queueing, 100_000) > 0.5
    assert share_above(writes.processing, 100_000) < share_above(writes.queueing, 100_000) / 10
    assert share_above(writes.total, 1_000_000) > 0.2


def test_a_closed_loop_does_not_show_it(stalled: Mapping[str, LoadResult]) -> None:
    """It waits for the stall as well, and so asks for nothing meanwhile: coordinated omission."""
    writes = of(stalled["closed"].measured.operations, "write")
    assert (writes.queueing, writes.total) == (None, None)
    assert writes.processing is not None
    assert writes.processing.max_us > 300_000
    late = of(stalled["open"].measured.operations, "write").queueing
    assert share_above(writes.processing, 100_000) < share_above(late, 100_000) / 10
    assert {second.offered for second in stalled["closed"].measured.raw_seconds} == {None}


def test_what_was_due_and_never_started_is_counted(stalled: Mapping[str, LoadResult]) -> None:
    measured = stalled["open"].measured
    writes = of(measured.operations, "write")
    offered = sum(second.offered or 0 for second in measured.raw_seconds)
    assert offered == 12_000
    assert measured.not_started > 1000
    assert writes.count + measured.not_started == offered
    assert total(writes.processing) == writes.count
    assert total(writes.queueing) == total(writes.total) == offered


def test_the_limiter_changes_no_other_option(stalled: Mapping[str, LoadResult], run: Run, disk: Path) -> None:
    def effective() -> dict[str, int]:
        return dict(json.loads((disk / "result.json").read_text())["effective"])

    phase = fast("run", ClosedArrivals(count=10), measured=True)
    run(phase)
    plain = effective()
    run(phase, rate_limiter_bytes_per_s=1_000_000)
    limited = effective()
    assert limited["delayed_write_rate"] == plain["delayed_write_rate"] == 16 << 20
    assert plain["bytes_per_sync"] == 0
    assert limited["bytes_per_sync"] > 1 << 60  # more than any file has: never
    run(phase, rate_limiter_bytes_per_s=1_000_000, auto_tuned=True, options={"delayed_write_rate": 5_000_000})
    assert effective()["delayed_write_rate"] == 5_000_000


@pytest.mark.parametrize("name", CORE)
def test_ycsbs_mixes_have_their_shares(run: Run, name: str) -> None:
    core = CORE[name]
    count = 2000 if core.operations.scan else 20_000
    keys = KeyChoice(core.distribution, RECORDS)
    measured = run(
        LOAD, Work("run", ClosedArrivals(count=count), core.operations, keys, threads=2, measured=True)
    ).measured
    assert measured.not_found == 0
    for kind in ("read", "update", "insert", "scan", "read_modify_write"):
        found = measured.operations_by_kind.get(kind)
        share = found.count / count if found else 0.0
        assert share == pytest.approx(getattr(core.operations, kind), abs=0.02)
    assert sum(each.count for each in measured.operations) == count
    assert sum(second.reads + second.writes for second in measured.raw_seconds) == count


def test_a_seed_gives_the_same_operations_to_any_number_of_clients(run: Run) -> None:
    def counts(seed: int, threads: int) -> list[tuple[str, int]]:
        mix = Mix(read=1, update=1, scan=1)
        phase = Work(
            "run", ClosedArrivals(count=2000), mix, KeyChoice("zipfian", RECORDS), threads=threads, measured=True
        )
        return [(each.kind, each.count) for each in run(phase, seed=seed).measured.operations]

    assert counts(seed=1, threads=1) == counts(seed=1, threads=8) != counts(seed=2, threads=1)


def test_a_record_that_is_not_there_is_no_error(run: Run) -> None:
    reads = Work("run", ClosedArrivals(count=1000), Mix(read=1), KeyChoice("uniform", 2 * RECORDS), measured=True)
    assert run(LOAD, reads).measured.not_found == pytest.approx(500, rel=0.2)


def test_inserts_go_on_behind_the_loaded_records(run: Run) -> None:
    inserts = Work("insert", ClosedArrivals(count=500), Mix(insert=1), KeyChoice("uniform", RECORDS), threads=4)
    reads = Work("read", ClosedArrivals(count=2500), Mix(read=1), KeyChoice("sequential", RECORDS + 500), measured=True)
    assert run(LOAD, inserts, reads).measured.not_found == 0


def test_a_database_that_is_there_is_kept_where_it_is_not_to_be_made(run: Run) -> None:
    run(replace(LOAD, measured=True))
    reads = Work("read", ClosedArrivals(count=RECORDS), Mix(read=1), KeyChoice("sequential", RECORDS), measured=True)
    assert run(reads, create=False).measured.not_found == 0
    assert run(reads, create=True).measured.not_found == RECORDS


def test_who_does_not_ask_for_a_new_database_keeps_the_old_one(program: Path, disk: Path, run: Run) -> None:
    """A spec that is written by hand may leave `create` out."""
    run(replace(LOAD, measured=True))
    reads = Work("read", ClosedArrivals(count=RECORDS), Mix(read=1), KeyChoice("sequential", RECORDS), measured=True)
    asked = spec(disk, reads)
    content = json.loads(asked.to_json())
    del content["create"]
    (disk / "spec.json").write_text(json.dumps(content))
    subprocess.run([program, disk / "spec.json"], check=True, capture_output=True, timeout=60)
    assert read_result(asked.result).measured.not_found == 0


def test_keys_in_order_and_of_the_least_size(run: Run) -> None:
    scans = Work(
        "scan", ClosedArrivals(count=100), Mix(scan=1), KeyChoice("uniform", RECORDS), scan_length=10, measured=True
    )
    result = run(LOAD, scans, key_order="ordered", key_bytes=8, value_bytes=0, disable_wal=True)
    assert of(result.measured.operations, "scan").count == 100


def test_a_drain_waits_until_nothing_is_left(run: Run, disk: Path) -> None:
    writes = fast("run", ClosedArrivals(count=6000), measured=True)
    options = {"write_buffer_size": 1 << 20, "level0_file_num_compaction_trigger": 2}
    result = run(writes, Drain("settle"), options=options, rate_limiter_bytes_per_s=8_000_000)
    drained = result.phases[1]
    assert drained.drain is not None
    assert (drained.drain.reached, drained.drain.pending_compaction_bytes) == (True, 0)
    assert result.drain_s == drained.seconds
    # By RocksDB's own LOG there was something left to wait for, and it was waited for.
    ended = [each for each in read_log(disk / "db" / "LOG", rotated=False) if isinstance(each, CompactionFinished)]
    begin_s = drained.begin_unix_s
    assert [each for each in ended if begin_s < each.time_s < begin_s + drained.seconds + CLOCKS_APART_S]
    assert [each for each in ended if each.time_s > begin_s + drained.seconds + CLOCKS_APART_S] == []


def test_a_drain_gives_up_in_time(run: Run) -> None:
    writes, settle = fast("run", ClosedArrivals(count=3500), measured=True), Drain("settle", at_most_s=0.3)
    result = run(writes, settle, options={"write_buffer_size": 3 << 20}, rate_limiter_bytes_per_s=1_000_000)
    drain = result.phases[1].drain
    assert drain is not None
    assert not drain.reached
    assert result.drain_s is None


def test_a_drain_can_be_told_to_flush_and_to_wait_for_a_file(run: Run, disk: Path) -> None:
    """The database stays open meanwhile, so that others can restore its options and see what is due."""
    told = disk / "drained"
    writes, hold = fast("run", ClosedArrivals(count=100), measured=True), Drain("drain", 60.0, told)
    result: list[LoadResult] = []
    running = Thread(target=lambda: result.append(run(writes, hold)))
    running.start()
    eventually(lambda: list(disk.glob("db/*.sst")), what="the memtable is flushed")
    assert result == []
    told.touch()
    running.join(PATIENCE_S)
    (drained,) = (phase.drain for phase in result[0].phases if phase.drain is not None)
    assert drained.reached


def test_a_drain_that_nobody_ends_gives_up_in_time(run: Run, disk: Path) -> None:
    result = run(fast("run", ClosedArrivals(count=10), measured=True), Drain("drain", 0.3, disk / "drained"))
    drain = result.phases[1].drain
    assert drain is not None
    assert not drain.reached


def test_a_phase_can_wait_for_a_file(run: Run, disk: Path) -> None:
    """Meanwhile others can see to what it needs; the wait is no part of its time."""
    told, writes = disk / "told", fast("run", ClosedArrivals(count=10), measured=True)
    result: list[LoadResult] = []
    running = Thread(target=lambda: result.append(run(writes, fast("after", ClosedArrivals(count=10), waits_for=told))))
    running.start()
    # The log has all ten values, so the first phase is over, or about to be.
    eventually(lambda: sum(log.stat().st_size for log in disk.glob("db/*.log")) > 10 * 1000, what="it has written")
    assert result == []
    told_s = time.monotonic()
    told.touch()
    running.join(PATIENCE_S)
    before, after = result[0].phases
    assert before.begin_monotonic_s < told_s <= after.begin_monotonic_s


def test_what_the_process_used_and_when(run: Run) -> None:
    began_s = time.monotonic()
    result = run(fast("run", ClosedArrivals(seconds=0.5), measured=True))
    assert 0 < result.process.cpu_s <= (time.monotonic() - began_s) * (os.cpu_count() or 1)
    assert 5_000_000 < result.process.peak_rss_bytes < 1_000_000_000
    assert result.measured.begin_unix_s - result.measured.begin_monotonic_s == pytest.approx(
        float(Path("/proc/stat").read_text().partition("btime ")[2].split()[0]), abs=5
    )
    assert 0.5 <= result.measured.seconds <= time.monotonic() - began_s


def test_the_example_of_the_docs_runs(program: Path, disk: Path) -> None:
    (block,) = (block for block in blocks(REPOSITORY / "docs" / "load-generator.md") if block.language == "json")
    content = json.loads(block.content) | {"database": str(disk / "db"), "result": str(disk / "result.json")}
    load, _, measured, _ = content["phases"]
    load["closed"]["count"] = load["keys"]["records"] = measured["keys"]["records"] = RECORDS
    measured["open"]["steps"] = [[1, 200], [1, 800]]
    (disk / "spec.json").write_text(json.dumps(content))
    subprocess.run([program, disk / "spec.json"], check=True, capture_output=True)
    result = read_result(disk / "result.json")
    assert sum(each.count for each in result.measured.operations) == 1000
    assert result.drain_s is not None


GOOD = fast("run", ClosedArrivals(count=1), measured=True)


def edited(asked: LoadSpec, *path: str | int, value: object) -> str:
    """A spec's text with one value changed."""
    content = json.loads(asked.to_json())
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("phases", 0, "threads"), 0, "phases[0].threads must be a number from 1 to 1024; it is 0"),
        (("phases", 0, "threads"), 1.5, "phases[0].threads must be a whole number; it is 1.5"),
        (("phases", 0, "operations"), {}, "phases[0].operations needs a weight above 0"),
        (("phases", 0, "operations", "delete"), 1, "phases[0].operations.delete is unknown"),
        (("phases", 0, "keys", "distribution"), "normal", "is normal; it must be one of uniform, zipfian, latest, seq"),
        (("phases", 0, "keys", "records"), 0, "phases[0].keys.records must be 1 or more"),
        (("phases", 0, "measured"), False, "exactly one phase must be measured; 0 are"),
        (("phases", 0, "drain"), {}, "phases[0] must have exactly one of open, closed and drain"),
        (("phases", 0, "closed"), {}, "phases[0].closed needs seconds or count"),
        (("phases",), [], "phases must be a list with a phase or more"),
        (("key_bytes",), 4, "key_bytes must be a number from 8 to 1024; it is 4"),
        (("statistics",), "some", "statistics is some; it must be one of none, tickers, all"),
        (("auto_tuned",), True, "auto_tuned needs rate_limiter_bytes_per_s"),
        (("options",), {"write_bufer_size": 1}, "options.write_bufer_size is no option of this RocksDB"),
        (("options",), {"write_buffer_size": "many"}, "options.write_buffer_size cannot be many: RocksDB says"),
        (("surprise",), 1, "surprise is unknown"),
    ],
)
def test_a_bad_spec_is_one_sentence(
    program: Path, disk: Path, path: tuple[str | int, ...], value: object, sentence: str
) -> None:
    file = disk / "spec.json"
    file.write_text(edited(spec(disk, GOOD), *path, value=value))
    done = subprocess.run([program, file], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"adocd-load: {file}: ")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (disk / "result.json").exists()


@pytest.mark.parametrize(("text", "sentence"), [("{", "it is no JSON"), (None, "it cannot be read")])
def test_a_spec_that_is_none(program: Path, disk: Path, text: str | None, sentence: str) -> None:
    file = disk / "spec.json"
    if text is not None:
        file.write_text(text)
    done = subprocess.run([program, file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"adocd-load: {file}: {sentence}\n")


def test_a_database_that_cannot_be_opened(program: Path, disk: Path) -> None:
    asked = replace(spec(disk, GOOD), database=Path("/proc/none/db"))
    done = subprocess.run(command(program, asked), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("adocd-load: /proc/none/db cannot be ")


def test_a_result_that_cannot_be_written(program: Path, disk: Path) -> None:
    line = command(program, spec(disk, GOOD))
    (disk / "result.json.unfinished").mkdir()
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"adocd-load: {disk}/result.json cannot be written\n")


@pytest.mark.parametrize("loop", [OpenArrivals(constant(1000, 60)), ClosedArrivals(seconds=60)])
def test_sigterm_ends_it_in_order(program: Path, disk: Path, loop: OpenArrivals | ClosedArrivals) -> None:
    asked = spec(disk, fast("run", loop, threads=4, measured=True), Drain("settle"))
    with child("load", command(program, asked), disk) as load:
        eventually(lambda: list(disk.glob("db/OPTIONS-*")), what="the database is open")
        with pytest.raises(subprocess.TimeoutExpired):
            load.process.wait(0.5)
        load.process.send_signal(signal.SIGTERM)
        assert load.process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    result = read_result(asked.result)
    assert result.interrupted
    measured = result.measured
    assert sum(each.count for each in measured.operations) > 0
    assert measured.seconds < 60, "it was ended"
    if measured.loop == "open":
        offered = sum(second.offered or 0 for second in measured.raw_seconds)
        assert offered == sum(each.count for each in measured.operations) + measured.not_started
        assert offered == pytest.approx(1000 * measured.seconds, rel=0.05)


def test_the_database_is_seen_through_the_preloaded_agent(
    program: Path, disk: Path, run_dir: Path, native_agent_library: Path
) -> None:
    asked = spec(disk, fast("run", OpenArrivals(constant(1000, 60)), measured=True), statistics="tickers")
    line = [sys.executable, "-m", "adocd", "exec", "--", *command(program, asked)]
    with child("load", line, disk, {"ADOCD_RUN_DIR": str(run_dir)}) as load:
        (socket,) = eventually(lambda: list(run_dir.glob("agent-*.sock")))
        with AgentClient(socket) as agent:
            eventually(agent.databases)
            database = agent.only_database()
            assert database["path"] == str(asked.database)
            eventually(
                lambda: agent.fresh_snapshot(database["id"])["tickers"].get("rocksdb.number.keys.written", 0) > 100
            )
        load.process.send_signal(signal.SIGTERM)
        assert load.process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert read_result(asked.result).interrupted

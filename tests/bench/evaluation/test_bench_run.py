"""Real runs: one against what RocksDB itself counts, and the command from end to end, interrupted and resumed."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from adocd_bench.cli.bench import bench_app
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.code_hash import code_in_use
from adocd_bench.evaluation.loads.workloads import WORKLOADS
from adocd_bench.evaluation.report.accounting import compacted_while_read
from adocd_bench.evaluation.schemes import SCHEMES
from adocd_bench.host.cap import GROUP_PREFIX
from adocd_bench.run.workspace import PREFIX
from typer.testing import CliRunner

from tests.bench.roots import capping
from tests.support.waiting import eventually

_WITHIN_S = 1200
#: They wait for real programs as long as a bench does, and no longer.
real = pytest.mark.alone


def profile(disk: Path) -> str:
    """A cap where one can be had, so slow that the database stalls within seconds."""
    return capping(disk, "cap-50")


def bench(*arguments: str, disk: Path, out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "adocd", "bench", "run", *arguments, "--out", str(out), "--directory", str(disk)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=_WITHIN_S)
    return process.returncode, output, errors


def has_a_database(disk: Path) -> bool:
    """Look for one that a run has made; before, a device is made to see whether it can be, and goes while we look."""
    with contextlib.suppress(FileNotFoundError):
        return bool(list(disk.glob(f"{PREFIX}*/**/database/CURRENT")))
    return False


def assert_nothing_is_left(process: subprocess.Popen[str], disk: Path) -> None:
    assert not list(disk.glob(f"{PREFIX}*"))
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{GROUP_PREFIX}{process.pid}-*"))


@pytest.fixture(autouse=True)
def _agent(native_agent_library: Path) -> None:
    """All of it needs the agent."""


@real
def test_a_real_plan_is_run_interrupted_and_resumed(disk: Path, tmp_path: Path) -> None:
    """Two schemes for five seconds, at once where that can be; what is there stays, and what is gone is made again."""
    asked: tuple[str, ...] = (
        "--scheme",
        "adoc",
        "--profile",
        profile(disk),
        "--seconds",
        "5",
        "--repeat",
        "1",
        "--scale",
        "8",
        "--device-gb",
        "9",
    )
    if asked[3] != "uncapped":
        asked += ("--at-once", "2")
    out = tmp_path / "out"
    first = bench(*asked, disk=disk, out=out)
    eventually(lambda: has_a_database(disk), within_s=60, what="the first run has begun")
    first.send_signal(signal.SIGINT)
    status, _, errors = finished(first)
    assert (status, errors.count("interrupted; everything that was started is gone")) == (1, 1), errors
    assert not list((out / "runs").iterdir())
    assert_nothing_is_left(first, disk)

    status, output, errors = finished(bench(*asked, "--json", disk=disk, out=out))
    assert status == 0, errors
    done = json.loads(output.splitlines()[-1])
    assert (done["runs"], done["kept"], done["made"], done["failed"]) == (2, 0, 2, {})
    assert "run 2 of 2" in errors
    baseline, other = sorted((out / "runs").iterdir(), key=lambda file: "default" not in file.name)
    _check(raw.read(baseline))
    assert raw.read(baseline).stalls or asked[3] == "uncapped", "nothing stalled, so no stall was held against the run"
    before = baseline.read_bytes()

    other.unlink()
    status, output, errors = finished(bench(*asked, "--json", disk=disk, out=out))
    assert status == 0, errors
    assert json.loads(output.splitlines()[-1])["kept"] == 1
    assert baseline.read_bytes() == before
    found = raw.read(other)
    assert (found.scheme.name, found.scheme.policy) == ("adoc", "adoc")
    _check(found)
    if asked[3] != "uncapped":
        assert found.device is not None
        assert found.device.size_bytes == 9_000_000_000 // 512 * 512


def _check(run: raw.RawRun) -> None:
    """Hold a run against what it says of itself: what db_bench counts is what RocksDB does."""
    (written,) = run.operations
    assert run.at_end.user_written_bytes is not None
    # A write is a record with some 16 bytes of a batch beside it.
    assert run.at_end.user_written_bytes == pytest.approx(written.count * 1032, rel=0.02)
    assert written.processing is not None
    assert sum(count for _, _, count in written.processing.buckets) == written.count
    assert 5 <= run.measured_s <= run.wall_s
    assert sum(second.writes for second in run.seconds) == pytest.approx(written.count, rel=0.01)
    assert [second.at_s for second in run.seconds] == list(range(len(run.seconds)))
    assert run.samples[0].at_s >= 0
    assert run.samples[-1].at_s > run.measured_s
    assert run.drain_s is not None
    assert run.drain_s >= 0
    assert (run.at_end.flush_written_bytes or 0) > 0
    assert run.settled is not None
    assert run.measured_s - 1 < run.settled.asked_s < run.settled.restored_s <= run.settled.owners_s
    assert run.settled.quiet_s is not None
    assert run.drain_s >= run.settled.owners_s - run.settled.clients_ended_s - 0.01
    due = (run.settled.running_flushes, run.settled.running_compactions, run.settled.flush_pending)
    assert (*due, run.settled.compaction_pending, run.settled.memtables) == (0, 0, 0, 0, 0)
    assert any(sample.at_s > run.settled.owners_s for sample in run.samples)
    if run.drained is not None:  # the program may end before the daemon's next look
        assert run.drained.pending_compaction_bytes == 0
        assert (run.drained.flush_written_bytes or 0) >= (run.at_end.flush_written_bytes or 0)
    assert all(0 <= stall.stalled_s <= run.measured_s + 0.1 for stall in run.stalls)
    assert run.database.cpu_s > (run.database.measured_cpu_s or 0) > 0
    assert run.database.peak_rss_bytes > 8 << 20
    assert run.daemon.cpu_s > 0
    # The kernel's threads work for any run on a disk; with runs at once, what they do for the others is taken off.
    kernel = run.noise.others_kernel_fraction
    assert kernel is not None
    assert kernel > 0 or run.at_once > 1
    assert kernel <= 1 - run.noise.others_cpu_fraction
    assert run.noise.others_signed_fraction is not None
    assert max(run.noise.others_signed_fraction, 0) == pytest.approx(kernel + run.noise.others_cpu_fraction)
    assert run.noise.measured_others_fraction is not None
    assert 0 <= run.noise.measured_others_fraction <= 1
    assert run.machine.rocksdb_version.count(".") == 2
    assert run.machine.code == code_in_use(), "the program and we run the same sources"
    assert not [warning for warning in run.warnings if "counted" in warning]


def test_a_refusal_is_one_sentence_and_makes_nothing(disk: Path, tmp_path: Path) -> None:
    status, output, errors = finished(bench("--workload", "constant", disk=disk, out=tmp_path / "out"))
    assert (status, output) == (2, "")
    assert errors == "adocd: constant needs --rate: operations a second\n"
    assert not (tmp_path / "out").exists()

    status, _, errors = finished(bench("--device-gb", "3", "--seconds", "60", disk=disk, out=tmp_path / "small"))
    assert status == 2
    assert re.fullmatch(r"adocd: --device-gb must be at least [0-9]+ for these runs, not 3\n", errors), errors
    assert not list((tmp_path / "small" / "runs").glob("*"))


@real
def test_what_the_generator_does_is_kept_with_its_queueing(disk: Path, tmp_path: Path) -> None:
    """An open loop at a rate that cannot be had: what waits to be started counts. Then it is read, compaction off."""
    asked = ("--scheme", "default", "--workload", "sine", "--seconds", "5", "--repeat", "1", "--scale", "32")
    process = bench(*asked, "--profile", profile(disk), disk=disk, out=tmp_path)
    status, _, errors = finished(process)
    assert status == 0, errors
    (file,) = (tmp_path / "runs").iterdir()
    run = raw.read(file)
    (written,) = run.operations
    assert written.count == pytest.approx((run.workload.offered_per_s or 0) * 5, rel=0.02)
    assert written.queueing is not None
    assert written.total is not None
    assert written.total.max_us >= written.queueing.max_us
    (read,) = run.after
    assert (read.kind, read.count) == ("read", 100_000 // 32)
    assert run.after_span_s is not None
    assert run.settled is not None
    assert run.measured_s <= run.after_span_s[0] < run.after_span_s[1] <= run.settled.clients_ended_s
    assert not compacted_while_read(run), "the bench's own switches are not a law's"
    pinned = [each for each in run.decisions if each.rule == "operator.override"]
    assert [each.outcome for each in pinned if each.at_s < run.after_span_s[0]] == ["applied"], "no law can undo it"
    assert sum(second.offered or 0 for second in run.seconds) == pytest.approx(written.count, abs=2)
    assert_nothing_is_left(process, disk)


def test_lists_name_all_there_is() -> None:
    shown = CliRunner().invoke(bench_app, ["schemes"])
    assert all(name in shown.stdout for name in SCHEMES)
    assert list(json.loads(CliRunner().invoke(bench_app, ["workloads", "--json"]).stdout)) == list(WORKLOADS)

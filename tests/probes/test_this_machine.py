"""The probes on the machine that runs the tests, beside psutil where the two overlap, and a database's threads."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from adocd.model.device import DiskActivity
from adocd.model.missing import Missing
from adocd.probes.block_device import storage_of
from adocd.probes.diskstats import SECTOR_BYTES, activity, read_devices
from adocd.probes.pressure import pressure_activity, read_limits, read_pressure
from adocd.probes.process import process_activity, read_process

SELF = os.getpid()


def test_counters_are_psutils() -> None:
    # psutil would add what it takes for a wrap.
    disks = psutil.disk_io_counters(perdisk=True, nowrap=False)
    if not disks:
        pytest.skip("this machine shows no block devices")
    reading = read_devices(tuple(disks), time.monotonic())
    after = psutil.disk_io_counters(perdisk=True, nowrap=False)
    assert reading.missing == {}
    for name, before in disks.items():
        own = reading.devices[name]
        assert before.read_count <= own.reads.operations <= after[name].read_count
        assert before.write_count <= own.writes.operations <= after[name].write_count
        assert before.read_bytes <= own.reads.sectors * SECTOR_BYTES <= after[name].read_bytes
        assert before.write_bytes <= own.writes.sectors * SECTOR_BYTES <= after[name].write_bytes
        assert before.busy_time <= own.io_ms <= after[name].busy_time


def test_this_process_is_psutils() -> None:
    process = psutil.Process()
    before = process.cpu_times()
    own = read_process(SELF, time.monotonic())
    after = process.cpu_times()
    assert not isinstance(own, Missing)
    ticks = os.sysconf("SC_CLK_TCK")
    assert before.user <= own.user_ticks / ticks <= after.user
    assert before.system <= own.system_ticks / ticks <= after.system
    assert own.threads.keys() == {thread.id for thread in process.threads()}
    assert own.rss_bytes is not None
    # The kernel adds up a process's pages in batches.
    assert own.rss_bytes == pytest.approx(process.memory_info().rss, rel=0.1)
    assert own.start_ticks / ticks == pytest.approx(process.create_time() - psutil.boot_time(), abs=1.5)
    assert own.missing == ()


def test_a_write_is_seen_by_the_device_and_in_the_processs_io(tmp_path: Path) -> None:
    storage = storage_of(tmp_path)
    if not storage.disks:
        pytest.skip(storage.missing[0])
    process, disks = read_process(SELF, time.monotonic()), read_devices(storage.disks, time.monotonic())
    with (tmp_path / "file").open("wb") as file:
        file.write(os.urandom(4 << 20))
        file.flush()
        os.fsync(file.fileno())
    found = activity(disks, read_devices(storage.disks, time.monotonic()))
    written = [disk.writes.bytes_per_s * disk.interval_s for disk in found.values() if isinstance(disk, DiskActivity)]
    assert round(sum(written)) >= 4 << 20
    later = read_process(SELF, time.monotonic())
    assert not isinstance(process, Missing)
    assert not isinstance(later, Missing)
    did = process_activity(process, later)
    assert not isinstance(did, Missing)
    if did.written_bytes_per_s is not None:  # a kernel may be built without it
        assert round(did.written_bytes_per_s * did.interval_s) >= 4 << 20


def test_the_device_is_the_one_that_the_kernel_names() -> None:
    storage = storage_of(Path.cwd())
    if not storage.devices:
        pytest.skip(storage.missing[0])
    device = os.stat(Path.cwd()).st_dev
    if os.major(device):
        assert storage.devices[0].number == f"{os.major(device)}:{os.minor(device)}"
    assert read_devices(storage.disks, 0.0).missing == {}
    assert storage_of(Path.cwd(), pid=SELF) == storage


def test_pressure_and_limits_are_read_or_missed_with_a_sentence() -> None:
    before = read_pressure(SELF, time.monotonic())
    assert before.machine or before.missing
    found = pressure_activity(before, read_pressure(SELF, time.monotonic() + 1.0))
    assert not isinstance(found, Missing)
    assert found.machine.keys() == before.machine.keys()
    limits = read_limits(SELF)
    assert limits.cpu_cores is None or limits.cpu_cores > 0


def test_a_process_that_ended_or_gave_its_number_away() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    alive = read_process(child.pid, 1.0)
    child.communicate(b"\n")
    gone = read_process(child.pid, 2.0)
    assert isinstance(gone, Missing)
    assert gone.why.startswith(f"process {child.pid} cannot be read: it has ended, or is hidden from here (")
    own = read_process(SELF, 2.0)
    assert not isinstance(alive, Missing)
    assert not isinstance(own, Missing)
    assert isinstance(process_activity(alive, own), Missing)


def test_rocksdbs_threads_are_told_by_pool(tmp_path: Path) -> None:
    program = (
        "import sys, rocksdict\n"
        "options = rocksdict.Options(); options.create_if_missing(True); options.increase_parallelism(4)\n"
        "database = rocksdict.Rdict(sys.argv[1], options)\n"
        "database['a'] = 1; database.flush(); database.compact_range(None, None)\n"
        "print('open', flush=True); input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        before, after = read_process(child.pid, 1.0), read_process(child.pid, 2.0)
        child.communicate(b"\n")
    assert not isinstance(before, Missing)
    assert not isinstance(after, Missing)
    did = process_activity(before, after)
    assert not isinstance(did, Missing)
    assert did.pools["high"].threads >= 1
    assert did.pools["low"].threads >= 1

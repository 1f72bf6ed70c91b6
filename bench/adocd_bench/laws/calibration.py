"""Measures this machine for the simulator, separately from the runs that are compared.

Three figures stand for the processor in the simulator (docs/simulator.md), one for what escapes a cap, and two for what
is read. The first four are read off runs in which no law acts and nothing is ever delayed or stopped, the others are
measured without RocksDB, so none of them can be chosen to please a comparison.
"""

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from adocd_bench.errors import RunFailed
from adocd_bench.host.cap import capped
from adocd_bench.host.device import MB, parse_profile
from adocd_bench.laws.measure import Flags, LawPlan, MeasuredLaw, measure
from adocd_bench.programs.db_bench import find_db_bench
from adocd_bench.programs.fill import KEY_BYTES, VALUE_BYTES, Fill
from adocd_bench.run.child import child
from adocd_bench.run.workspace import choose_parent, needed_bytes, run_directory, workspace

ENTRY_BYTES = KEY_BYTES + VALUE_BYTES
#: Long enough for a dozen memtables and the first merges, too short for any debt that matters.
SECONDS, _WAL_SECONDS, _DEVICE_SECONDS = 30, 8, 4
_OVERRUN_S = 120.0
#: Beside the compared runs' own sizes of memtables and files: none of the reasons to hold writes. Compactions go on,
#: for there they do, too, and take a processor from the client; they begin sooner, so that one ends on a slow machine.
_NEVER_HELD: Flags = {
    "level0_file_num_compaction_trigger": 2,
    "max_write_buffer_number": 64,
    "level0_slowdown_writes_trigger": 1000,
    "level0_stop_writes_trigger": 1000,
    "soft_pending_compaction_bytes_limit": 0,
    "hard_pending_compaction_bytes_limit": 0,
}
#: With flushes alone all table files are still there at the end, so that their sizes say what was written.
_FLUSHES_ALONE: Flags = {"disable_auto_compactions": 1, "max_write_buffer_number": 64, "benchmarks": "fillrandom,flush"}


@dataclass(frozen=True, slots=True)
class Speeds:
    """Rates in bytes/s: writes of one unstalled client, output of one flush, input of one compaction."""

    client_bytes_per_s: float
    flush_bytes_per_s: float
    compaction_bytes_per_s: float
    others_cpu_share: float

    def words(self) -> str:
        """Say it in a line."""
        named = {"client": self.client_bytes_per_s, "flush": self.flush_bytes_per_s}
        named["compaction"] = self.compaction_bytes_per_s
        figures = ", ".join(f"{name} {bytes_per_s / MB:.0f} MB/s" for name, bytes_per_s in named.items())
        return f"{figures}; other programs had {self.others_cpu_share:.0%} of the processors"

    def options(self) -> str:
        """Say it as options of `adocctl simulate`."""
        client, flush, compaction = self.client_bytes_per_s, self.flush_bytes_per_s, self.compaction_bytes_per_s
        return f"--rate {client / MB:.0f} --flush-rate {flush / MB:.0f} --compaction-rate {compaction / MB:.0f}"


def speeds(flags: Flags, seed: int, seconds: int = SECONDS) -> Speeds:
    """Measure the speeds on the disk as it is, with the same db_bench, agent and daemon; raises BenchError."""
    return speeds_of(measure(LawPlan("fixed", seconds, "uncapped", flags={**flags, **_NEVER_HELD}, seed=seed)))


def speeds_of(measured: MeasuredLaw) -> Speeds:
    """Compute the speeds from a run without write stalls; raises RunFailed for any other.

    A job's speed is the sum of bytes over the sum of seconds of all such jobs, so longer jobs weigh more.
    """
    if measured.stalls:
        raise RunFailed("writes were delayed or stopped while the machine was measured: it says nothing about clients")
    events = [event for tick in measured.ticks for event in tick.sample.events]
    ended = {kind: [each for each in events if each.kind == kind] for kind in ("flush_end", "compaction_end")}
    if not ended["flush_end"] or not ended["compaction_end"]:
        raise RunFailed("no flush or no compaction ended while the machine was measured: give it more --seconds")
    return Speeds(
        client_bytes_per_s=measured.report.writes_per_s * ENTRY_BYTES,
        flush_bytes_per_s=_per_s([(each.bytes, each.elapsed_s) for each in ended["flush_end"]]),
        compaction_bytes_per_s=_per_s([(each.read_bytes, each.elapsed_s) for each in ended["compaction_end"]]),
        others_cpu_share=measured.others_cpu_fraction,
    )


@dataclass(frozen=True, slots=True)
class ReadBandwidth:
    """The device's bandwidth in bytes/s under a profile's cap: reads alone, and reads with writes."""

    read_bytes_per_s: float
    mixed_bytes_per_s: float

    def words(self) -> str:
        """Say it in a line."""
        return f"reads {self.read_bytes_per_s / MB:.0f} MB/s, and with writes {self.mixed_bytes_per_s / MB:.0f} MB/s"

    def options(self) -> str:
        """Say it as options of `adocctl simulate`."""
        return f"--read-rate {self.read_bytes_per_s / MB:.0f} --mixed-rate {self.mixed_bytes_per_s / MB:.0f}"


def middle(several: Sequence[Speeds]) -> Speeds:
    """Take the median of each figure."""
    return Speeds(
        statistics.median(each.client_bytes_per_s for each in several),
        statistics.median(each.flush_bytes_per_s for each in several),
        statistics.median(each.compaction_bytes_per_s for each in several),
        statistics.median(each.others_cpu_share for each in several),
    )


def bandwidth(profile_name: str, seconds: int = _DEVICE_SECONDS) -> ReadBandwidth:
    """Measure a capped program's bandwidth for reads alone and for reads with writes; raises BenchError."""
    profile = parse_profile(profile_name)
    size_bytes = needed_bytes(seconds, profile)
    parent = choose_parent(None, size_bytes)
    sys.stderr.write(f"reads on {profile_name}, {2 * seconds} s\n")
    with workspace(parent) as place, capped(profile, place, size_bytes) as cap, run_directory() as room:
        command = [sys.executable, "-m", "adocd_bench.laws.streams", str(cap.directory), str(seconds)]
        with child("streams", cap.command(command), room) as program:
            program.wait(2 * seconds + _OVERRUN_S)
            return ReadBandwidth(**json.loads(program.said()))


@dataclass(frozen=True, slots=True)
class WrittenUnderCap:
    """Bytes of one capped run: what reached the device under the cap, and the sizes of its tables and of its WAL."""

    device_bytes: int
    tables_bytes: int
    wal_bytes: int


def wal_outside_share(profile_name: str, seconds: int = _WAL_SECONDS) -> float:
    """Measure which share of the WAL's bytes takes nothing of the profile's bandwidth: 0 to 1; 0 without a cap.

    Under `cap-N` that is what was deleted before the kernel wrote it back, under `cap-N-wal-outside` also the rest.
    Raises BenchError.
    """
    if not parse_profile(profile_name).capped:
        return 0.0
    return escaped(written_under_cap(profile_name, seconds))


def written_under_cap(profile_name: str, seconds: int, *, syncs: bool = False) -> WrittenUnderCap:
    """Measure what a capped db_bench writes that only flushes; raises BenchError.

    What is written to the device under the cap is the table files, by direct I/O, and a part of the WAL: all of it if
    the program `syncs` each write.
    """
    profile = parse_profile(profile_name)
    size_bytes = needed_bytes(seconds, profile)
    parent = choose_parent(None, size_bytes)
    sys.stderr.write(f"the WAL on {profile_name}, {seconds} s\n")
    with workspace(parent) as place, capped(profile, place, size_bytes) as cap, run_directory() as room:
        bench, fill = find_db_bench(), Fill(cap.directory / "database", seconds, 1, room / "seconds.csv")
        flags = [f"--{name}={value}" for name, value in _FLUSHES_ALONE.items()] + (["--sync"] if syncs else [])
        before = cap.written_bytes() or 0
        with child(bench.name, cap.command([*bench.command(fill), *flags]), room) as program:
            program.wait(seconds + _OVERRUN_S)
        tables = sum(file.stat().st_size for file in fill.directory.glob("*.sst"))
        wal = bench.report(program.said(), seconds).writes * ENTRY_BYTES
        return WrittenUnderCap((cap.written_bytes() or 0) - before, tables, wal)


def escaped(written: WrittenUnderCap) -> float:
    """Say which share of the WAL is not in what was written beside tables; raises RunFailed where it cannot be told."""
    if written.wal_bytes <= 0 or written.device_bytes < written.tables_bytes // 2:
        raise RunFailed(
            f"{written.device_bytes} bytes were written to the device under the cap and the tables have "
            f"{written.tables_bytes}: its device is not the one that is counted"
        )
    return min(1.0, max(0.0, 1 - (written.device_bytes - written.tables_bytes) / written.wal_bytes))


def _per_s(jobs: Sequence[tuple[int | None, float | None]]) -> float:
    return sum(size or 0 for size, _ in jobs) / max(1e-9, sum(seconds or 0.0 for _, seconds in jobs))

"""LOGs made on the spot by the three RocksDBs that are at hand, each of another version, each made to stall.

Writes are slowed down with as many level-0 files as begin a compaction, so that there are stalls on any machine.

Every maker brings its database to rest (everything flushed, no compaction due), reads its counters, and closes it:
RocksDB holds back what it logs for up to five seconds, so that a LOG is whole only then.
"""

from __future__ import annotations

import getpass
import random
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rocksdict import Options, Rdict, WriteBatch

from adocd.probes.log import LogFollower
from adocd.probes.log.dump_events import StatisticsDump

MIB = 1 << 20


@dataclass(frozen=True)
class Made:
    """A database's directory, and what it said of itself at rest: tickers, and counts of histograms."""

    directory: Path
    tickers: Mapping[str, int]
    #: When it was at rest; the LOG goes on to the close.
    at_s: float

    @property
    def log(self) -> Path:
        """The LOG."""
        return self.directory / "LOG"


def by_db_bench(directory: Path, *, writes: int = 250_000, dump_period_s: int = 1) -> Made:
    """RocksDB 7.8.3: Debian's stock db_bench."""
    program = shutil.which("db_bench")
    assert program, "there is no db_bench; Debian's package is rocksdb-tools, `make fixtures` installs it"
    database = directory / "db"
    done = subprocess.run(
        [
            program,
            "--benchmarks=fillrandom,flush,waitforcompaction",
            "--db=db",
            f"--num={writes}",
            "--value_size=100",
            "--compression_type=none",
            f"--write_buffer_size={MIB}",
            f"--target_file_size_base={MIB}",
            f"--max_bytes_for_level_base={4 * MIB}",
            "--level0_slowdown_writes_trigger=4",
            "--level0_stop_writes_trigger=8",
            "--soft_pending_compaction_bytes_limit=16000000",
            "--hard_pending_compaction_bytes_limit=32000000",
            "--max_background_jobs=2",
            "--statistics",
            f"--stats_dump_period_sec={dump_period_s}",
        ],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return Made(database, tickers_in(done.stdout + done.stderr), time.time())


def by_rocksdict(directory: Path) -> Made:
    """RocksDB 9.8.4 in this process, with two column families."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_write_buffer_size(MIB)
    options.set_target_file_size_base(MIB)
    options.set_max_bytes_for_level_base(4 * MIB)
    options.set_level_zero_slowdown_writes_trigger(4)
    options.set_level_zero_stop_writes_trigger(8)
    options.set_soft_pending_compaction_bytes_limit(16_000_000)
    options.set_hard_pending_compaction_bytes_limit(32_000_000)
    options.set_max_background_jobs(2)
    options.enable_statistics()
    options.set_stats_dump_period_sec(1)
    database = Rdict(str(directory / "db"), options, column_families={"second cf": options})
    second = database.get_column_family("second cf")
    handle = database.get_column_family_handle("second cf")
    draw = random.Random(5)  # noqa: S311
    for _ in range(1_500):
        batch = WriteBatch(raw_mode=True)
        for _ in range(100):
            batch.put(draw.randbytes(16), draw.randbytes(100))
            batch.put(draw.randbytes(16), draw.randbytes(100), handle)
        database.write(batch)
    database.set_options({"write_buffer_size": "2097152", "disable_auto_compactions": "false"})
    with suppress(Exception):
        database.set_options({"no_such_option": "1"})
    for family in (database, second):
        family.flush()
        family.compact_range(None, None)
    _until_at_rest(
        lambda: all(
            int(database.property_value(f"rocksdb.{name}") or 0) == 0
            for name in ("num-running-compactions", "compaction-pending", "num-running-flushes")
        )
    )
    # All of it may take less than the time to the first dump.
    written_s, dumps = time.time(), _Dumps(directory / "db" / "LOG")
    _until_at_rest(lambda: dumps.after(written_s) > 0)
    rested_s = time.time()
    made = Made(directory / "db", tickers_in(options.get_statistics() or ""), rested_s)
    # The figures of the first dump that is stamped after this moment may have been taken before it.
    _until_at_rest(lambda: dumps.after(rested_s) > 1)
    second.close()
    database.close()
    return made


class _Dumps:
    """The dumps in a LOG that is being written, each line of which is read once."""

    def __init__(self, log: Path) -> None:
        self._follower, self._times_s = LogFollower(log), list[float]()

    def after(self, time_s: float) -> int:
        """Read what is new; how many were made after this time."""
        self._times_s += [event.time_s for event in self._follower.poll() if isinstance(event, StatisticsDump)]
        return sum(each > time_s for each in self._times_s)


def by_mariadb(directory: Path) -> Made:
    """RocksDB 6.29.5: MyRocks in Debian's MariaDB."""
    for program in ("mariadbd", "mariadb", "mariadb-install-db"):
        assert shutil.which(program), (
            f"there is no {program}; Debian's packages are mariadb-server, mariadb-plugin-rocksdb"
        )
    data = directory / "data"
    subprocess.run(
        [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    socket = directory / "s"
    options = (
        "write_buffer_size=1m;target_file_size_base=1m;max_bytes_for_level_base=4m;level0_slowdown_writes_trigger=4;"
        "level0_stop_writes_trigger=6;soft_pending_compaction_bytes_limit=8m;hard_pending_compaction_bytes_limit=32m"
    )
    with (directory / "server.log").open("wb") as output:
        server = subprocess.Popen(
            [
                "mariadbd",
                "--no-defaults",
                f"--user={getpass.getuser()}",
                f"--datadir={data}",
                f"--socket={socket}",
                f"--pid-file={directory / 'pid'}",
                "--skip-networking",
                "--plugin-load-add=ha_rocksdb",
                "--rocksdb-stats-dump-period-sec=1",
                "--rocksdb-stats-level=4",
                f"--rocksdb-default-cf-options={options}",
                "--rocksdb-max-background-jobs=2",
                "--rocksdb-flush-log-at-trx-commit=0",
            ],
            stdout=output,
            stderr=output,
        )
    try:
        _until_at_rest(lambda: _sql(socket, "select 1").returncode == 0, interval_s=0.1)
        rows = "insert into a(k, v) select uuid(), random_bytes(200) from seq_1_to_1500;"
        loaded = _sql(
            socket,
            """create database t; use t;
            create table a (id bigint primary key auto_increment, k char(36), v varbinary(300), key(k)) engine=rocksdb;
            """
            + rows * 30
            + """set global rocksdb_update_cf_options='default={write_buffer_size=2097152;max_write_buffer_number=4}';
            set global rocksdb_max_background_jobs=4;"""
            + rows * 10
            + """set global rocksdb_force_flush_memtable_now=1;
            set global rocksdb_compact_cf='default';
            select sleep(1.5);""",
        )
        assert loaded.returncode == 0, loaded.stderr
        status = _sql(socket, "show global status like 'rocksdb%'").stdout
        tickers = {
            "rocksdb." + name.replace("_", "."): int(value)
            for name, value in re.findall(r"^Rocksdb_(\w+)\t(\d+)$", status, re.MULTILINE)
        }
        made = Made(data / "#rocksdb", tickers, time.time())
        _sql(socket, "shutdown")
        server.wait(timeout=60)
    finally:
        server.kill()
        server.wait()
    return made


def tickers_in(statistics: str) -> dict[str, int]:
    """Read a printed block of statistics the plain way: tickers, and histograms' counts."""
    found = re.findall(r"^ ?(rocksdb\.\S+) (?:P50 : .* )?COUNT : (\d+)", statistics, re.MULTILINE)
    return {name: int(count) for name, count in found}


def _sql(socket: Path, statements: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["mariadb", "--no-defaults", "--user=root", f"--socket={socket}", "--batch", "--skip-column-names"],
        input=statements,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def _until_at_rest(true, interval_s: float = 0.2, seconds: float = 60.0) -> None:  # type: ignore[no-untyped-def]
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(interval_s)

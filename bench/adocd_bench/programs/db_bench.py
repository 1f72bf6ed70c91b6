"""Stock db_bench: its command line, and what it reports.

The workload is the ADOC paper's (adoc-fast23, section 3.1): fillrandom, 16-byte keys, 1000-byte values, no
compression, direct I/O for flush and compaction, and otherwise db_bench's own defaults: two background jobs,
write buffers of 64 MiB, level-0 triggers 4, 20 and 36, one writer.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from adocd_bench.errors import ProgramMissing, RunFailed
from adocd_bench.programs.fill import KEY_BYTES, VALUE_BYTES, Fill, FillReport, last_line

#: More keys than any run can write, so that --duration alone ends it.
KEYS = 1_000_000_000
_VERSION_WITHIN_S = 30.0
#: Since then a result has the seconds and the operations of a benchmark (facebook/rocksdb#9886), before the rate alone.
_MEASURING_SINCE = (7, 3)

_RESULT = re.compile(
    r"^fillrandom\s*:\s+(?P<micros>[0-9.]+) micros/op (?P<rate>[0-9]+) ops/sec"
    r"(?: (?P<seconds>[0-9.]+) seconds (?P<operations>[0-9]+) operations)?",
    re.MULTILINE,
)


@dataclass(frozen=True)
class DbBench:
    """An installed db_bench, and the RocksDB version it reports."""

    path: str
    rocksdb_version: str
    name: str = "db_bench"

    @property
    def title(self) -> str:
        """Say in a few words what writes."""
        return f"Stock db_bench, RocksDB {self.rocksdb_version}, fillrandom"

    def command(self, fill: Fill) -> list[str]:
        """Build the command line that starts it under the native agent."""
        return [*(sys.executable, "-m", "adocd", "exec", "--"), *self.without_agent(fill)]

    def without_agent(self, fill: Fill) -> list[str]:
        """Build the command line that starts it by itself."""
        return [
            self.path,
            "--benchmarks=fillrandom",
            f"--db={fill.directory}",
            "--use_existing_db=0",
            f"--duration={fill.seconds}",
            f"--num={KEYS}",
            f"--seed={fill.seed}",
            f"--key_size={KEY_BYTES}",
            f"--value_size={VALUE_BYTES}",
            "--compression_type=none",
            "--use_direct_io_for_flush_and_compaction=true",
            "--report_interval_seconds=1",
            f"--report_file={fill.report}",
        ]

    def environment(self) -> Mapping[str, str]:
        """Return no variables: it needs none."""
        return {}

    def report(self, text: str, asked_seconds: int) -> FillReport:
        """Read the result line from db_bench's standard output.

        Versions before 7.3 report the rate alone; seconds and writes are then worked out from what was asked.
        Raises RunFailed when there is no result.
        """
        match = _RESULT.search(text)
        if match is None:
            raise RunFailed(f"db_bench reported no result; the last it said was: {last_line(text)}")
        rate = float(match["rate"])
        if match["seconds"] is None:
            return FillReport(rate, float(asked_seconds), round(rate * asked_seconds))
        return FillReport(rate, float(match["seconds"]), int(match["operations"]))


def find_db_bench(name: str = "db_bench") -> DbBench:
    """Find db_bench on the PATH and ask for its version.

    Raises ProgramMissing with what to install.
    """
    path = shutil.which(name)
    if path is None:
        raise ProgramMissing(f"{name} is not installed: apt-get install rocksdb-tools (Debian, Ubuntu)")
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=False, timeout=_VERSION_WITHIN_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramMissing(f"{path} does not run ({error})") from error
    match = re.search(r"version (\d+\.\d+\.\d+)", done.stdout + done.stderr)
    if match is None:
        raise ProgramMissing(f"{path} --version does not name a version: is it RocksDB's db_bench?")
    return DbBench(path, match[1])


def find_measuring_db_bench(name: str = "db_bench") -> DbBench:
    """Find a db_bench whose results have seconds and operations, without which a measured phase is lost.

    Raises ProgramMissing with what to install, also for an older one.
    """
    found = find_db_bench(name)
    if tuple(map(int, found.rocksdb_version.split(".")[:2])) < _MEASURING_SINCE:
        raise ProgramMissing(
            f"{found.path} is of RocksDB {found.rocksdb_version}, whose results lack a benchmark's seconds and "
            "operations: put the db_bench of RocksDB 7.3 or later first on the PATH"
        )
    return found


def agent_library() -> str:
    """Find the native agent as `adocd agent path` does, which builds it if need be. Raises RunFailed."""
    shown = subprocess.run(
        [sys.executable, "-m", "adocd", "agent", "path"], capture_output=True, text=True, check=False
    )
    if shown.returncode != 0:
        raise RunFailed(shown.stderr.strip())
    return shown.stdout.strip()

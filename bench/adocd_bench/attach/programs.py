"""The running programs to which it is attached, without any agent: stock db_bench, and one that tells its writes."""

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adocd_bench.errors import RunFailed
from adocd_bench.programs.db_bench import find_db_bench
from adocd_bench.programs.native import NativeProgram
from adocd_bench.run.child import child, wait_until

WRITERS = NativeProgram("writers", "adocd-writers", "the program with many databases", Path(__file__).parent / "native")
_LONG_S = 100_000
_OPEN_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Running:
    """A program with open databases.

    Attributes:
        name: for tables.
        pid: its process id.
        databases: their directories.
        process: to ask it for its longest write; None if it cannot be asked.

    """

    name: str
    pid: int
    databases: frozenset[Path]
    process: subprocess.Popen[str] | None = None

    def longest_us(self) -> int | None:
        """Return its longest write since this was last called, in microseconds; None if it cannot be asked."""
        if self.process is None or self.process.stdin is None or self.process.stdout is None:
            return None
        try:
            self.process.stdin.write("longest\n")
            self.process.stdin.flush()
            return int(self.process.stdout.readline())
        except (OSError, ValueError):
            raise RunFailed(f"{self.name} ended while it was attached to") from None


@contextlib.contextmanager
def writers(directory: Path, databases: int, memory_bytes: int) -> Iterator[Running]:
    """Run the program that writes to so many databases, and keeps so much memory beside them."""
    command = [str(WRITERS.find_or_build()), str(directory), str(databases), str(memory_bytes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None or process.stdout.readline() != "ready\n":
                raise RunFailed(f"{WRITERS.name} did not open its databases")
            paths = frozenset(directory / str(number) for number in range(databases))
            yield Running(WRITERS.name, process.pid, paths, process)
            if process.poll() is not None:
                raise RunFailed(f"{WRITERS.name} ended with {process.returncode}")
        finally:
            process.kill()


@contextlib.contextmanager
def db_bench(directory: Path, databases: int, room: Path) -> Iterator[Running]:
    """Run stock db_bench with so many databases, a writer each, over and over the same keys."""
    command = [
        find_db_bench().path, "--benchmarks=overwrite", "--num=200000", f"--duration={_LONG_S}", "--value_size=1000",
        f"--threads={databases}", f"--db={directory}", *([f"--num_multi_db={databases}"] if databases > 1 else []),
    ]  # fmt: skip
    paths = frozenset(directory / str(number) for number in range(databases)) if databases > 1 else {directory}
    with child("db_bench", command, room) as program:
        wait_until(
            lambda: all((path / "CURRENT").exists() for path in paths),
            "db_bench did not open its databases",
            program,
            within_s=_OPEN_WITHIN_S,
        )
        yield Running("db_bench", program.pid, frozenset(paths))
        if program.ended():
            raise RunFailed(f"db_bench ended with {program.process.returncode}: {program.last_words()}")

"""Real databases that are written all the time: in stock db_bench, in a program with rocksdict, and in a JVM."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from adocd.process import java_agent
from tests.chaos.options import newest_options_file
from tests.chaos.profile import count
from tests.cli.harness import NOWHERE, Running, start
from tests.support.agent_client import AgentClient
from tests.support.java import java_command
from tests.support.programs import Program, environment
from tests.support.waiting import eventually

Json = Any
MIB = 1 << 20
MEMTABLE_BYTES = 256 << 10
#: Writes are slowed down as soon as compaction is due, and then to more than is written here, so that the law has
#: overflows to see and no writer suffers. A few seconds without compaction pass the stop trigger.
SLOWDOWN_TRIGGER, STOP_TRIGGER = 4, 16
#: Of db_bench. The short profile leaves the processors to other tests.
KEYS_PER_S = count(4000, 8000)
#: What a law gets: small steps, so that there are many changes, and none that takes much memory.
LAW = ("--policy", "adoc", "--set", f"batch_min_bytes={MIB}", "--set", f"batch_step_bytes={MIB}")


class Host(Protocol):
    """A process with one database, which is written while it is open."""

    #: Whether its thread pools are the knob for threads, and so are put back.
    pools: bool
    directory: Path
    pid: int

    def start(self, *, reload: bool = False) -> None:
        """Start the process and open the database: with options of its own, or with those of its OPTIONS file."""

    def kill(self) -> None:
        """End the process by SIGKILL."""

    def note_written(self, agent: AgentClient, database: str) -> None:
        """Remember how many keys are surely written by now, where only its agent can tell."""

    def complete(self) -> str:
        """Open the database after its end, assert that no data are missing, and say what was found."""

    def standstill_s(self, since_s: float, until_s: float) -> float:
        """Tell for how long of this time the agent could not run, by the host's own account."""


class DbBench:
    """Stock db_bench: each key of a range once, in random order.

    The key that comes next is known to nobody outside; but as no key comes twice, what must be there in the end is as
    many keys as were written, and what RocksDB reads must fit its checksums.
    """

    pools = False

    def __init__(self, run_dir: Path, *, keys_per_s: int = KEYS_PER_S) -> None:
        self.directory = run_dir / "db"
        self._run_dir = run_dir
        self._keys_per_s = keys_per_s
        self._process: Running | None = None
        self._reloaded = False
        self._written = 0
        self.pid = 0

    def start(self, *, reload: bool = False) -> None:
        """Start the process; see Host."""
        self._reloaded = reload
        env = environment(None, self._run_dir)
        self._process = start("adocd", "exec", "--", *self._command(reload), env=env, out=NOWHERE, err=NOWHERE)
        self.pid = eventually(self._agent_pid, what="db_bench has opened its database") or 0
        # It opens a new database twice, so wait for what comes after that.
        wait_until_written(self._run_dir, self.pid)

    def kill(self) -> None:
        """End the process by SIGKILL; see Host."""
        os.kill(self.pid, signal.SIGKILL)
        assert self._process is not None
        self._process.wait(60)

    def note_written(self, agent: AgentClient, database: str) -> None:
        """Ask the agent, the first time: later opens write keys again that are there. See Host."""
        if self._reloaded:
            return
        counted: int = agent.fresh_snapshot(database)["counters"]["writes"]
        time.sleep(0.1)
        self._written = counted - 1  # one may have been counted before it was written

    def complete(self) -> str:
        """Count the keys, and hold every block against its checksum; see Host."""
        read = subprocess.run(
            ["db_bench", "--benchmarks=readseq,verifychecksum", f"--db={self.directory}", "--use_existing_db=1",
             f"--num={self._keys}", "--value_size=1000", "--compression_type=none"],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert read.returncode == 0, read.stderr
        found = re.search(r"^readseq .* (\d+) operations;", read.stdout, re.MULTILINE)
        assert found is not None, read.stdout
        assert re.search(r"^verifychecksum ", read.stdout, re.MULTILINE), read.stdout
        assert int(found[1]) >= self._written, f"{self._written} keys were written, {found[1]} are there"
        return f"{found[1]} keys, each block by its checksum"

    def standstill_s(self, since_s: float, until_s: float) -> float:  # noqa: ARG002 (see Host)
        """Never: the native agent has threads of its own; see Host."""
        return 0.0

    @property
    def _keys(self) -> int:
        return 12_000_000

    def _command(self, reload: bool) -> list[str]:
        written = [
            "db_bench", f"--db={self.directory}", "--value_size=1000", f"--num={self._keys}",
            f"--benchmark_write_rate_limit={self._keys_per_s * 1016}",
        ]  # fmt: skip
        if reload:
            options = f"--options_file={newest_options_file(self.directory)}"
            return [*written, "--benchmarks=overwrite", "--use_existing_db=1", options]
        return [
            *written, "--benchmarks=filluniquerandom", "--compression_type=none",
            f"--write_buffer_size={MEMTABLE_BYTES}", f"--target_file_size_base={MIB}",
            f"--max_bytes_for_level_base={4 * MIB}", f"--level0_slowdown_writes_trigger={SLOWDOWN_TRIGGER}",
            f"--level0_stop_writes_trigger={STOP_TRIGGER}",
        ]  # fmt: skip

    def _agent_pid(self) -> int | None:
        assert self._process is not None
        assert self._process.poll() is None, f"db_bench ended with {self._process.returncode}"
        return next((pid for pid in agent_pids(self._run_dir) if alive(pid)), None)


class WriterProgram:
    """A program that counts what was acknowledged, so that its end can be known to the key."""

    pools: bool

    def __init__(self, run_dir: Path, name: str, command: Sequence[str], keys_per_s: int) -> None:
        """Name the database, and the command before the program's arguments."""
        self.directory = run_dir / name
        self._run_dir = run_dir
        self._arguments: list[str | Path] = [*command, self.directory, str(keys_per_s)]
        self.program: Program | None = None
        self.pid = 0

    def start(self, *, reload: bool = False) -> None:
        """Start the process; see Host."""
        self.program = Program(self._arguments, environment(None, self._run_dir, PYTHONUTF8="1"))
        self.pid = self.program.pid
        self.open(reload=reload)

    def open(self, *, reload: bool) -> None:
        """Open the database in the process there is."""
        assert self.program is not None
        self.program.ask("open", "stored" if reload else "own")
        wait_until_written(self._run_dir, self.pid)

    def close(self) -> None:
        """Close the database and keep the process."""
        assert self.program is not None
        self.program.ask("close")

    def end(self) -> None:
        """End the process in an orderly way."""
        assert self.program is not None
        assert self.program.finish() == 0, self.program.stderr()
        assert self.program.stderr() == "", "nothing belongs on the program's stderr"
        self.program.stop()

    def kill(self) -> None:
        """End the process by SIGKILL; see Host."""
        assert self.program is not None
        self.program.process.kill()
        self.program.process.wait()
        self.program.stop()

    def note_written(self, agent: AgentClient, database: str) -> None:
        """Nothing to do: it counts itself; see Host."""

    def complete(self) -> str:
        """Look up every key that was acknowledged; see Host."""
        with Program(self._arguments, environment(None, None, PYTHONUTF8="1", ADOCD_AGENT="off")) as program:
            return f"{program.ask('verify')} acknowledged keys, each with its value"

    def standstill_s(self, since_s: float, until_s: float) -> float:  # noqa: ARG002 (see Host)
        """Never, where the agent has threads of its own; see Host."""
        return 0.0


class PythonProgram(WriterProgram):
    """tests/chaos/python_writer.py, with rocksdict."""

    pools = True

    def __init__(self, run_dir: Path, *, name: str = "db", keys_per_s: int = 5000) -> None:
        super().__init__(run_dir, name, [sys.executable, "-m", "tests.chaos.python_writer"], keys_per_s)

    def standstill_s(self, since_s: float, until_s: float) -> float:
        """Sum what its own thread noticed; see Host."""
        lines = self.directory.with_suffix(".standstills").read_text().splitlines()
        spans = [tuple(float(word) for word in line.split()) for line in lines]
        return sum(max(0.0, min(end, until_s) - max(begin, since_s)) for begin, end in spans)


class JavaProgram(WriterProgram):
    """tests/java_programs' Writer, on rocksdbjni, with the Java agent from its start."""

    pools = False

    def __init__(self, run_dir: Path, *, name: str = "db", keys_per_s: int = 5000) -> None:
        super().__init__(run_dir, name, java_command(java_agent.find(), main="Writer"), keys_per_s)


HOSTS: dict[str, Callable[[Path], Host]] = {"db_bench": DbBench, "python": PythonProgram, "java": JavaProgram}


@contextmanager
def running(host: Host) -> Iterator[Host]:
    """Run it from the first open until the block ends, however that is."""
    host.start()
    try:
        yield host
    finally:
        if alive(host.pid):
            host.kill()


def agent_of(run_dir: Path, pid: int) -> AgentClient:
    """Connect to the agent in this process; in a stall one of rocksdict's cannot answer at once."""
    return AgentClient(run_dir / f"agent-{pid}.sock", timeout_s=60)


def agent_pids(run_dir: Path) -> list[int]:
    """List the processes that have, or had, an agent."""
    return [int(path.stem.partition("-")[2]) for path in run_dir.glob("agent-*.sock")]


def alive(pid: int) -> bool:
    """Tell whether a process runs: it is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_written(run_dir: Path, pid: int) -> None:
    """Wait until the database of this process is written."""

    def written() -> bool:
        if not (run_dir / f"agent-{pid}.sock").exists():
            return False
        with AgentClient(run_dir / f"agent-{pid}.sock") as agent:
            databases = agent.databases()
            if len(databases) != 1:
                return False
            reply = agent.request("GET", f"/v1/databases/{databases[0]['id']}/snapshot")
            return reply.status == 200 and wrote(reply.body)

    eventually(written, every_s=0.05, what="the database is written")


def wrote(snapshot: Json) -> bool:
    """Tell whether anything was written since the open; without Statistics the memtable says so."""
    memtable = snapshot["column_families"]["default"]["properties"].get("rocksdb.cur-size-active-mem-table", 0)
    return bool((snapshot["counters"]["writes"] or 0) > 0 or memtable > 4096)

"""When the agent cannot or must not work: one line on stderr at most, and the host never notices."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.changes import back, database
from tests.support.elf import build_id, loaded_library
from tests.support.programs import Program, environment
from tests.support.waiting import eventually

Run = Callable[..., Program]


@pytest.fixture
def observed(start: Start, directory: Path) -> Run:
    """Start a host, open and use a database, and end it; return it for its output."""

    def ran(**extra: str) -> Program:
        host = start("lifecycle", **extra)
        host.ask("open", directory / "db")
        host.ask("put", directory / "db", 100)
        host.ask("flush", directory / "db")
        host.ask("close", directory / "db")
        host.send("quit")
        assert host.finish() == 0
        assert host.lines == ["ready", "ok", "ok", "ok", "ok"], "stdout is the host's own"
        return host

    return ran


def one_sentence(host: Program, *words: str) -> None:
    """Check that stderr is exactly one line that names the thing."""
    lines = host.stderr().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("adocd")
    for word in words:
        assert word in lines[0], lines[0]


def test_nothing_is_said_when_all_is_well(observed: Run, run_dir: Path) -> None:
    assert observed().stderr() == ""
    assert list(run_dir.iterdir()) == []


def test_switched_off(start: Start, directory: Path, run_dir: Path) -> None:
    host = start("lifecycle", ADOCD_AGENT="off")
    host.ask("open", directory / "db")
    assert list(run_dir.iterdir()) == []
    assert threads_of(host) == []
    host.send("quit")
    assert host.finish() == 0
    assert host.stderr() == ""


def threads_of(host: Program) -> list[str]:
    """Return the names of the agent's threads in a process."""
    names = [(task / "comm").read_text().strip() for task in Path(f"/proc/{host.pid}/task").iterdir()]
    return [name for name in names if name.startswith("adocd")]


#: Of Linux: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPROF, SIGSYS.
TAKEN = sum(1 << number - 1 for number in (4, 5, 6, 7, 8, 11, 27, 31))
BLOCKED = ((1 << 31) - 1) & ~TAKEN & ~(1 << signal.SIGKILL - 1) & ~(1 << signal.SIGSTOP - 1)


def signals_blocked_in(host: Program, thread: str) -> list[int]:
    """Return the signal masks of the threads whose name begins with `thread`."""
    masks = []
    for task in Path(f"/proc/{host.pid}/task").iterdir():
        if (task / "comm").read_text().startswith(thread):
            status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
            masks.append(int(status["SigBlk"], 16))
    return masks


def test_the_threads_are_named(start: Start, directory: Path) -> None:
    """Who looks at a host with top or gdb must see whose threads these are; and they take no signals of the host's."""
    host = start("lifecycle")
    assert threads_of(host) == []
    host.ask("open", directory / "db")
    eventually(lambda: len(threads_of(host)) >= 2, what="the agent's threads")
    for mask in signals_blocked_in(host, "adocd"):
        assert mask & BLOCKED == BLOCKED
        assert mask & TAKEN == 0, "a fault goes to the host's handler, and a profiler sees the thread"


def test_rocksdbs_threads_that_a_change_starts(start: Start, connect: Connect, directory: Path) -> None:
    """They inherit a thread's signal mask and keep it: a host's crash handler and profiler must reach them, too."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    before = len(signals_blocked_in(host, "rocksdb:low"))
    jobs, undo = database(max_background_jobs="16"), back(database(max_background_jobs="2"))
    client.change(db, client.acquire(db), [jobs], [undo]).ok()
    eventually(lambda: len(signals_blocked_in(host, "rocksdb:low")) > before, what="more threads")
    assert all(mask & TAKEN == 0 for mask in signals_blocked_in(host, "rocksdb:low"))


@pytest.mark.parametrize("missing", ["/nonexistent/run", "/dev/null", "/proc"])
def test_a_run_directory_that_cannot_be_used(observed: Run, missing: str) -> None:
    one_sentence(observed(ADOCD_RUN_DIR=missing), missing)


def test_a_run_directory_that_every_program_would_find_elsewhere(observed: Run) -> None:
    one_sentence(observed(ADOCD_RUN_DIR="run"), "ADOCD_RUN_DIR must be a whole path, not 'run'")


def test_a_run_directory_whose_path_is_too_long(observed: Run, directory: Path) -> None:
    long = directory / ("x" * 120)
    long.mkdir()
    one_sentence(observed(ADOCD_RUN_DIR=str(long)), "ADOCD_RUN_DIR")


def test_a_daemon_that_has_closed_its_standard_error(
    native_agent_library: Path, native_programs: Path, directory: Path
) -> None:
    """The database's first file gets descriptor 2 then: the agent's line must not end up in it."""
    env = environment(native_agent_library, Path("/nonexistent/run"))
    with Program(["/bin/sh", "-c", 'exec "$0" 2>&-', str(native_programs / "lifecycle")], env) as host:
        host.ask("open", directory / "db")
        host.ask("put", directory / "db", 10)
        assert Path(f"/proc/{host.pid}/fd/2").readlink().is_relative_to(directory.resolve()), "the test shows nothing"
        host.ask("close", directory / "db")
        host.send("quit")
        assert host.finish() == 0
    assert [file.name for file in (directory / "db").iterdir() if b"adocd agent:" in file.read_bytes()] == []


def test_a_standard_error_that_nobody_reads(native_agent_library: Path, native_programs: Path, directory: Path) -> None:
    """Writing to it is SIGPIPE, which ends a program that does not ignore it."""
    env = environment(native_agent_library, Path("/nonexistent/run"))
    # The pipe's reader ends before the program begins.
    script = 'exec 2> >(exit 0); wait $!; exec "$0"'
    with Program(["/bin/bash", "-c", script, str(native_programs / "lifecycle")], env) as host:
        host.ask("open", directory / "db")
        host.ask("put", directory / "db", 10)
        host.send("quit")
        assert host.finish() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_run_directory_that_may_not_be_written(
    native_agent_library: Path, native_programs: Path, directory: Path, run_dir: Path
) -> None:
    """A host that is not root, and a run directory that is root's."""
    nobody = 65534
    base = directory / "nobody"
    base.mkdir()
    for name in (native_agent_library, native_programs / "lifecycle"):
        shutil.copy(name, base)
    for path in (directory, base, run_dir):
        path.chmod(0o755)
    database = base / "db"
    database.mkdir()
    os.chown(database, nobody, nobody)
    env = environment(base / native_agent_library.name, run_dir)
    with Program([base / "lifecycle"], env, user=nobody) as host:
        host.ask("open", database)
        host.ask("put", database, 10)
        host.send("quit")
        assert host.finish() == 0
        one_sentence(host, str(run_dir))
    assert list(run_dir.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ADOCD_AGENT_STATISTICS", "some"),
        ("ADOCD_AGENT_LATENCY", "1"),
        ("ADOCD_AGENT_RATE_LIMITER", "fast"),
        ("ADOCD_AGENT_RATE_LIMITER", "0"),
        ("ADOCD_AGENT_RATE_LIMITER", "-5"),
        ("ADOCD_ALLOW_UIDS", "root"),
    ],
)
def test_a_setting_that_is_not_understood(observed: Run, name: str, value: str) -> None:
    """Nothing is guessed: the agent says what it wants and stays away."""
    one_sentence(observed(**{name: value}), name, value)


def test_another_build_of_librocksdb(observed: Run, native_programs: Path, directory: Path) -> None:
    """The agent knows the insides of one build; with any other it keeps its hands off."""
    original = loaded_library(native_programs / "lifecycle", "librocksdb")
    identity = build_id(original)
    other = directory / "lib"
    other.mkdir()
    data = original.read_bytes()
    assert data.count(identity) == 1
    (other / "librocksdb.so.7.8").write_bytes(data.replace(identity, bytes(len(identity))))
    os.symlink("librocksdb.so.7.8", other / original.name) if original.name != "librocksdb.so.7.8" else None
    host = observed(LD_LIBRARY_PATH=str(other))
    one_sentence(host, identity.hex(), "0" * 2 * len(identity))


def test_a_program_that_opens_nothing(start: Start, run_dir: Path) -> None:
    program = start("never_opens")
    assert threads_of(program) == []
    assert len(list(Path(f"/proc/{program.pid}/task").iterdir())) == 1
    assert list(run_dir.iterdir()) == []
    assert program.finish() == 0
    assert program.lines == ["ready"]
    assert program.stderr() == ""


def test_a_program_with_rocksdb_inside(start: Start, directory: Path, run_dir: Path) -> None:
    """RocksDB linked in statically cannot be observed; it must not be disturbed either."""
    program = start("static_rocksdb", directory / "db")
    assert threads_of(program) == []
    assert list(run_dir.iterdir()) == []
    program.send("close")
    assert program.finish() == 0
    assert program.lines == ["ready", "closed"]
    assert program.stderr() == ""


def test_programs_that_have_nothing_to_do_with_rocksdb(native_agent_library: Path, run_dir: Path) -> None:
    for arguments in (["/bin/echo", "hello"], ["/bin/sh", "-c", "echo hello"], ["/usr/bin/env", "echo", "hello"]):
        ended = subprocess.run(
            arguments, env=environment(native_agent_library, run_dir), capture_output=True, check=True
        )
        assert ended.stdout == b"hello\n"
        assert ended.stderr == b""
    assert list(run_dir.iterdir()) == []


def test_a_stock_db_bench(native_agent_library: Path, directory: Path, run_dir: Path) -> None:
    """Debian's own binary opens, destroys and opens again; its output is what it is without the agent."""
    benchmark = shutil.which("db_bench")
    assert benchmark is not None, "Debian's rocksdb-tools has it"
    arguments = [benchmark, "--benchmarks=fillseq,readrandom", "--num=2000", f"--db={directory / 'db'}"]

    def shape(library: Path | None) -> list[str]:
        ended = subprocess.run(arguments, env=environment(library, run_dir), capture_output=True, text=True, check=True)
        lines = ended.stdout.splitlines() + ended.stderr.splitlines()
        return [line.split(":")[0].split(" ")[0] for line in lines if not line.startswith("WARNING")]

    alone = shape(None)
    assert {"fillseq", "readrandom"} <= set(alone)
    assert shape(native_agent_library) == alone
    assert list(run_dir.iterdir()) == []

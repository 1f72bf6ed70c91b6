"""Which programs cannot be attached to, each with its sentence; real processes wherever there can be one."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adocd.process import compiled
from adocd.process.attach import attachment, injector
from adocd.process.attach.problem import AttachRefused
from adocd.process.attach.program import running
from adocd.process.compiled import NativeError
from tests.support.programs import Program, debugger_of, environment
from tests.support.waiting import eventually

_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER, _ALLOW = 38, 22, 2, 0x7FFF0000
_NOBODY = 65534


def refusal(pid: int, proc: Path = Path("/proc")) -> str:
    with pytest.raises(AttachRefused) as raised:
        running(pid, proc)
    return str(raised.value)


@pytest.fixture
def lifecycle(native_programs: Path) -> Path:
    """A program that loads librocksdb, and waits for commands."""
    return native_programs / "lifecycle"


@pytest.fixture
def host(lifecycle: Path) -> Iterator[Program]:
    """Start it without an agent."""
    with Program([lifecycle], environment(None, None)) as program:
        yield program


def test_a_program_with_the_shared_librocksdb_can_be_attached_to(host: Program) -> None:
    found = running(host.pid)
    assert found.name == "lifecycle"
    assert found.rocksdb.path.name.startswith("librocksdb.so")
    assert found.read(found.rocksdb.base, 4) == b"\x7fELF"
    assert found.read(8, 8) is None
    assert found.agent() is None


def test_no_process_and_one_that_has_ended() -> None:
    with subprocess.Popen(["true"]) as ended:
        eventually(lambda: Path(f"/proc/{ended.pid}/stat").read_text().split()[2] == "Z", what="the end")
        assert "has no librocksdb loaded" in refusal(ended.pid) or "it has ended" in refusal(ended.pid)
    assert refusal(ended.pid) == f"there is no process {ended.pid}: it has ended, or was never there"


def test_a_program_without_rocksdb() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        eventually(lambda: Path(f"/proc/{sleeping.pid}/comm").read_text() == "sleep\n", what="the program")
        said = refusal(sleeping.pid)
        sleeping.kill()
    assert said == f"sleep ({sleeping.pid}) has no librocksdb loaded: there is nothing to attach to"


def test_a_program_that_brings_its_own_copy() -> None:
    code = "import rocksdict, sys; print('ready', flush=True); sys.stdin.read()"
    with Program([sys.executable, "-c", code], environment(None, None)) as program:
        said = refusal(program.pid)
    assert "brings its own copy of RocksDB" in said
    assert "docs/attach.md" in said


def test_mariadb_with_myrocks(tmp_path: Path) -> None:
    maps = "7f0000000000-7f0000001000 r-xp 00000000 fe:00 1234   /usr/lib/mysql/plugin/ha_rocksdb.so\n"
    assert "server (77) brings its own copy of RocksDB" in refusal(77, fake(tmp_path, maps))


def fake(proc: Path, maps: str, exe: Path = Path("/bin/true"), status: str = "State:\tS (sleeping)\n") -> Path:
    """A process as /proc shows it, for what this machine does not have."""
    own = proc / "77"
    own.mkdir(parents=True)
    (own / "comm").write_text("server\n")
    (own / "status").write_text(status)
    (own / "maps").write_text(maps)
    (own / "exe").symlink_to(exe)
    return proc


def test_a_program_linked_statically_to_rocksdb(tmp_path: Path, native_programs: Path) -> None:
    said = refusal(77, fake(tmp_path, "", native_programs / "static_rocksdb"))
    assert said.startswith("server (77) is linked statically to RocksDB")


def test_a_librocksdb_that_was_replaced_on_the_disk(tmp_path: Path) -> None:
    maps = "7f0000000000-7f0000001000 r--p 00000000 fe:00 1234   /usr/lib/librocksdb.so.7.8.3 (deleted)\n"
    assert "was replaced on the disk" in refusal(77, fake(tmp_path, maps))


def test_another_user_s_program(host: Program) -> None:
    if os.geteuid() != 0:
        pytest.fail("this test needs root, as CI has it")
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        try:
            running(host.pid)
            said = "it was let in"
        except AttachRefused as error:
            said = str(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    assert os.read(reading, 4096).decode() == (
        f"process {host.pid} may not be looked into: it is another user's, or this user lacks CAP_SYS_PTRACE; run as "
        "root"
    )
    os.close(reading)


def test_a_stopped_program(host: Program) -> None:
    host.process.send_signal(signal.SIGSTOP)
    eventually(lambda: "T (stopped)" in Path(f"/proc/{host.pid}/status").read_text(), what="the stop")
    said = refusal(host.pid)
    host.process.send_signal(signal.SIGCONT)
    assert f"kill -CONT {host.pid}" in said


def test_a_program_under_a_debugger(host: Program) -> None:
    with debugger_of(host.pid) as debugger:
        assert f"is traced by process {debugger.pid}" in refusal(host.pid)


def filtered() -> None:
    """Let every system call through, but by a filter; called in the child, before it becomes the program."""

    class Instruction(ctypes.Structure):
        _fields_ = (("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32))

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(Instruction)))

    allow = Instruction(0x06, 0, 0, _ALLOW)
    c = ctypes.CDLL(None)
    c.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    assert c.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(Filter(1, ctypes.pointer(allow))), 0, 0) == 0


@pytest.mark.parametrize(
    ("wrapper", "prepare", "sentence"),
    [
        ((), filtered, "has a seccomp filter, which could kill it"),
        (
            ("unshare", "--mount"),
            None,
            "has file systems of its own, as in a container, where adocd has to run inside, or in a systemd unit",
        ),
        (
            ("unshare", "--mount", "--pid", "--fork", "--kill-child"),
            None,
            "has process ids of its own, as in a container: run adocd inside that container",
        ),
    ],
    ids=["seccomp", "file systems", "container"],
)
def test_a_program_that_is_shut_in(
    lifecycle: Path, wrapper: tuple[str, ...], prepare: Callable[[], None] | None, sentence: str
) -> None:
    with subprocess.Popen(
        [*wrapper, lifecycle], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=prepare  # noqa: PLW1509
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        pid = innermost(process.pid)
        said = refusal(pid)
        process.kill()
    assert sentence in said
    assert re.match(rf"lifecycle \({pid}\) ", said)


def innermost(pid: int) -> int:
    """Follow a chain of processes, each with one child, to its end."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return innermost(int(children[0])) if children else pid


def test_a_program_with_another_librocksdb_than_the_agent_was_built_for(
    lifecycle: Path, tmp_path: Path, run_dir: Path
) -> None:
    """A copy with another build id, as another version or another build of the same one has."""
    here = compiled.rocksdb()
    other = here.path.read_bytes().replace(bytes.fromhex(here.build_id), bytes(len(here.build_id) // 2))
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for name in here.path.parent.glob("librocksdb.so*"):
        (libraries / name.name).write_bytes(other)
    with Program([lifecycle], environment(None, None, LD_LIBRARY_PATH=str(libraries))) as program:
        program.ask("open", tmp_path / "database")
        with pytest.raises(NativeError, match=r"built for another one .*build --rocksdb .*/libraries/lib"):
            attachment.attach(program.pid, run_dir, {})
        assert running(program.pid).agent() is None, "something was loaded"


#: Opens a database through the C API, and its LOG is elsewhere (db_log_dir); arguments: librocksdb, database, LOGs.
LOG_ELSEWHERE = """
import ctypes, sys
rocksdb, (database, logs) = ctypes.CDLL(sys.argv[1]), (each.encode() for each in sys.argv[2:])
rocksdb.rocksdb_options_create.restype = rocksdb.rocksdb_open.restype = ctypes.c_void_p
options, error = ctypes.c_void_p(rocksdb.rocksdb_options_create()), ctypes.c_char_p()
rocksdb.rocksdb_options_set_create_if_missing(options, 1)
rocksdb.rocksdb_options_set_db_log_dir(options, logs)
rocksdb.rocksdb_open(options, database, ctypes.byref(error))
print(error.value or "ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("name", ["database", "données/a b+c"], ids=["plain", "with characters that no LOG's name has"])
def test_a_log_in_another_directory_belongs_to_its_database(tmp_path: Path, name: str) -> None:
    database, logs = tmp_path / name, tmp_path / "logs"
    database.mkdir(parents=True)
    logs.mkdir()
    arguments: list[str | Path] = [sys.executable, "-c", LOG_ELSEWHERE, compiled.rocksdb().path, database, logs]
    with Program(arguments, environment(None, None)) as program:
        assert not (database / "LOG").exists()
        found = attachment.look(program.pid)
        assert [each.directory for each in found.databases] == [database]


def test_a_log_in_another_directory_is_called_by_the_cwd_alone_where_the_path_is_relative(tmp_path: Path) -> None:
    """As RocksDB does it (env/fs_posix.cc, GetAbsolutePath)."""
    logs = tmp_path / "logs"
    logs.mkdir()
    code = f"import os\nos.chdir({str(tmp_path)!r})\n{LOG_ELSEWHERE}"
    arguments: list[str | Path] = [sys.executable, "-c", code, compiled.rocksdb().path, "db", logs]
    with Program(arguments, environment(None, None)) as program:
        assert [log.name for log in logs.iterdir()] == [str(tmp_path)[1:].replace("/", "_") + "_LOG"]
        found = attachment.look(program.pid)
        assert [each.directory for each in found.databases] == [tmp_path / "db"]


def test_a_program_with_no_database_open(host: Program, run_dir: Path) -> None:
    with pytest.raises(AttachRefused, match=r"has no database open for writing: there is nothing to attach to$"):
        attachment.attach(host.pid, run_dir, {})
    assert running(host.pid).agent() is None, "something was loaded"


def test_a_database_whose_log_does_not_name_it(host: Program, tmp_path: Path, run_dir: Path) -> None:
    """Such as that of a program with a logger of its own."""
    database = tmp_path / "database"
    host.ask("open", database)
    log = database / "LOG"
    log.write_bytes(re.sub(rb"DB pointer 0x", b"DB painter 0x", log.read_bytes()))
    with pytest.raises(AttachRefused, match=r"its LOG does not name it .*: start it under `adocd exec`$"):
        attachment.attach(host.pid, run_dir, {})
    assert running(host.pid).agent() is None, "something was loaded"


def test_without_an_injector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "frida", None)
    with pytest.raises(AttachRefused, match=r"pip install 'adocd\[attach\]'$"):
        injector.require()

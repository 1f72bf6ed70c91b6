"""Checks of programs that have RocksDB loaded: whether they run an agent."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adocd.cli.doctor.finding import DoctorFinding, ok, warning
from adocd.process.attach import program as attachable
from adocd.process.attach.problem import AttachRefused
from adocd.process.native import LIBRARY
from adocd.targets.http_request import connected, peer_pid
from adocd.targets.run_dir import agent_sockets

_CHECK = "programs"
_ROCKSDB = re.compile(r"/librocksdb\.so[^/]*$")
_BUNDLED = re.compile(r"/rocksdict[^/]*\.so$")
_MYROCKS = re.compile(r"/ha_rocksdb\.so$")
_REPLACED = " (deleted)"
#: Most databases named per program.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class RocksDBProcess:
    """A process that has RocksDB loaded; `directories` are those of its open databases that this user can see."""

    pid: int
    name: str
    library: str
    has_agent: bool
    directories: tuple[str, ...]

    @property
    def is_replaced(self) -> bool:
        """Whether the library's file on disk was replaced since it was loaded."""
        return self.library.endswith(_REPLACED)


def without_agent(run_directory: Path, proc: Path = Path("/proc")) -> Iterator[DoctorFinding]:
    """Find programs that have librocksdb loaded but no agent."""
    found, hidden = programs(proc)
    attached = {_listener_of(socket) for socket in agent_sockets(run_directory)}
    for program in found:
        yield _said(program, run_directory, proc, is_here=program.pid in attached)
    if hidden:
        yield ok(_CHECK, f"{hidden} processes of other users could not be inspected; run as root to include them")
    if not found:
        yield ok(_CHECK, "no visible process has a librocksdb loaded")


def programs(proc: Path) -> tuple[list[RocksDBProcess], int]:
    """List processes that have RocksDB loaded, and count those that this user may not inspect."""
    found, hidden = [], 0
    for directory in sorted(proc.glob("[0-9]*"), key=lambda each: int(each.name)):
        try:
            loaded = _loaded(directory / "maps")
        except PermissionError:
            hidden += 1
            continue
        except OSError:  # it has ended
            continue
        library = next((path for path in loaded if _is_rocksdb(path)), None)
        if library is not None and int(directory.name) != os.getpid():
            has_agent = any(path.removesuffix(_REPLACED).endswith(f"/{LIBRARY}") for path in loaded)
            found.append(
                RocksDBProcess(
                    int(directory.name), _name(directory), library, has_agent, tuple(_open_databases(directory))
                )
            )
    return found, hidden


def _said(program: RocksDBProcess, run_directory: Path, proc: Path, *, is_here: bool) -> DoctorFinding:
    who = f"{program.name} ({program.pid})"
    if is_here and program.is_replaced:
        return warning(
            _CHECK, f"{who} runs a librocksdb that was replaced on the disk", "restart it under the new agent"
        )
    if is_here:
        return ok(_CHECK, f"{who} has an agent")
    if program.has_agent:
        return warning(
            _CHECK, f"{who} has an agent, and its socket is not in {run_directory}",
            "it has opened no database yet, or runs with another ADOCD_RUN_DIR: daemon and program must have the same",
        )  # fmt: skip
    if not program.directories and not _may_read(program.pid):
        databases = ""
    elif not program.directories:
        return ok(_CHECK, f"{who} has RocksDB loaded and no visible open database")
    else:
        more = len(program.directories) - _NAMED
        named = ", ".join(program.directories[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        databases = f" and {named} open"
    library = program.library.removesuffix(_REPLACED)
    if _MYROCKS.search(library):
        way_out = "nothing to do: MyRocks brings its own copy of RocksDB, which no agent is for"
    elif _BUNDLED.search(library):
        way_out = "attach the Python agent in the program (adocd_agent.attach)"
    else:
        way_out = "start it by `adocd exec -- PROGRAM`, or as a service with LD_PRELOAD (docs/service.md)"
        way_out += _while_it_runs(program.pid, proc)
    observe = f"; to only observe: adocd serve --directory {program.directories[0]}" if program.directories else ""
    return warning(_CHECK, f"{who} has RocksDB loaded{databases}, without an agent", f"{way_out}{observe}")


def _while_it_runs(pid: int, proc: Path) -> str:
    """Say how to attach to it as it is, or why not."""
    try:
        attachable.running(pid, proc)
    except AttachRefused as error:
        return f"; not while it runs: {error}"
    return f"; or while it runs, which is experimental: `adocd attach {pid}`"


def _may_read(pid: int) -> bool:
    return os.access(f"/proc/{pid}/fd", os.R_OK)


def _is_rocksdb(path: str) -> bool:
    bare = path.removesuffix(_REPLACED)
    return any(library.search(bare) for library in (_ROCKSDB, _BUNDLED, _MYROCKS))


def _loaded(maps: Path) -> list[str]:
    """List the files that are mapped (proc(5), /proc/pid/maps)."""
    names = (line.split(maxsplit=5)[5:] for line in maps.read_text(errors="replace").splitlines())
    return list(dict.fromkeys(name[0] for name in names if name))


def _name(directory: Path) -> str:
    try:
        return (directory / "comm").read_text(errors="replace").strip()
    except OSError:
        return "a program"


def _open_databases(directory: Path) -> list[str]:
    """List directories whose LOCK file the process has open; RocksDB holds it while the database is open."""
    found = set()
    try:
        for descriptor in (directory / "fd").iterdir():
            try:
                target = descriptor.readlink()
            except OSError:
                continue
            if target.name == "LOCK" and (target.parent / "CURRENT").exists():
                found.add(str(target.parent))
    except OSError:
        return []
    return sorted(found)


def _listener_of(socket: Path) -> int | None:
    """Return the pid of the process that listens there; None if it has ended, or has no pid here.

    The kernel knows it: a killed process leaves its socket behind, and a container counts pids of its own.
    """
    try:
        with connected(socket) as connection:
            return peer_pid(connection)
    except (ConnectionRefusedError, FileNotFoundError):
        return None
    except OSError:  # such as a full queue, or a socket of another user: then only its name says whose it is
        return _pid_of(socket)


def _pid_of(socket: Path) -> int | None:
    """Return the pid in a socket's name: agent-PID.sock, or agent-PID-N.sock."""
    match = re.match(r"agent-(\d+)(?:-\d+)?\.sock$", socket.name)
    return int(match.group(1)) if match else None

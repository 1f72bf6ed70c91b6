"""A running program as it looks from outside: what it has loaded, which databases it has open, and what forbids it all.

Everything is read from /proc (proc(5)); nothing is stopped or written.
"""

import contextlib
import mmap
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adocd.process.attach.problem import AttachRefused
from adocd.process.compiled import ROCKSDB_MARK
from adocd.process.native import LIBRARY

_ROCKSDB = re.compile(r"/librocksdb\.so[^/]*$")
_OWN_COPY = re.compile(r"/(librocksdbjni|rocksdict|ha_rocksdb)[^/]*$")
_REPLACED = " (deleted)"
#: RocksDB writes it when an open has succeeded, and again at the top of each LOG that it begins (AutoRollLogger).
_DB_POINTER = re.compile(rb"DB pointer (0x[0-9a-f]+)")
#: It follows the options of all column families, some 20 KB for each.
_LOG_HEAD_BYTES, _CHUNK_BYTES = 256 << 20, 1 << 20
_PATIENCE_S, _POLL_S = 0.5, 0.02
#: A LOG in db_log_dir is called by its database's path (InfoLogFileName, file/filename.cc).
_LOG_ELSEWHERE, _NOT_IN_A_NAME, _LONGEST_LOG_NAME = "_LOG", re.compile(rb"[^-._a-zA-Z0-9]"), 255


@dataclass(frozen=True, slots=True)
class LoadedRocksDb:
    """The librocksdb in a program: its file, and where it begins in the program's memory."""

    path: Path
    base: int


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """A program that may be attached to."""

    pid: int
    proc: Path
    name: str
    rocksdb: LoadedRocksDb

    def read(self, address: int, size: int) -> bytes | None:
        """Read its memory; None where there is none. Raises AttachRefused if that is not permitted."""
        try:
            with (self.proc / "mem").open("rb", buffering=0) as memory:
                read = os.pread(memory.fileno(), size, address)
        except PermissionError:
            raise _not_permitted(self.pid) from None
        except FileNotFoundError:
            raise _ended(self.pid) from None
        except (OSError, OverflowError):
            return None
        return read if len(read) == size else None

    def locked(self) -> set[Path]:
        """List the directories of its databases: RocksDB holds LOCK while one is open for writing."""
        return {
            link.parent for link in self._open_files() if link.name == "LOCK" and (link.parent / "CURRENT").exists()
        }

    def pointers(self) -> dict[int, set[Path]]:
        """List the addresses that its LOGs give for its databases, each with those LOGs."""
        found: dict[int, set[Path]] = {}
        for descriptor in self._descriptors():
            with contextlib.suppress(OSError):
                link = descriptor.readlink()
                if link.name == "LOG" or link.name.endswith(_LOG_ELSEWHERE):
                    for address in _pointers_in(descriptor):
                        found.setdefault(address, set()).add(link)
        return found

    def is_log_of(self, log: Path, name: str) -> bool:
        """Tell whether a database of this name writes this LOG: into its own directory, or into db_log_dir."""
        # As RocksDB does: `..` stays, and of a relative path only the working directory counts (env/fs_posix.cc).
        absolute = name if os.path.isabs(name) else os.path.realpath(self.proc / "cwd")
        elsewhere = _NOT_IN_A_NAME.sub(b"_", os.fsencode(absolute.removeprefix("/")))[:_LONGEST_LOG_NAME].decode()
        return log == self.directory_of(name) / "LOG" or log.name == elsewhere + _LOG_ELSEWHERE

    def directory_of(self, name: str) -> Path:
        """Resolve a database's name as the program would."""
        return Path(os.path.realpath(self.proc / "cwd" / name))

    def agent(self) -> Path | None:
        """Return the file of the agent that is loaded; None if there is none."""
        found = next((path for path in _mapped(self.proc, self.pid) if Path(path).name.startswith(LIBRARY)), None)
        return None if found is None else Path(found)

    def require_own_code(self) -> None:
        """Refuse a librocksdb that another user could have written: to learn its layout, our user runs its code.

        Raises AttachRefused.
        """
        try:
            uids = set(_status(self.proc).get("Uid", "").split())
        except OSError:
            raise _ended(self.pid) from None
        if uids == {str(os.geteuid())}:
            return  # our user runs it already
        library = self.rocksdb.path
        if (others := next((each for each in (library, *library.parents) if not _is_ours(each)), None)) is not None:
            raise AttachRefused(
                f"{self.name} ({self.pid}) runs as another user, and others than root may write {others}: adocd would "
                f"run the code of {library} as this user; attach as the program's user, or start it under `adocd exec`"
            )

    def _open_files(self) -> Iterator[Path]:
        for descriptor in self._descriptors():
            with contextlib.suppress(OSError):
                yield descriptor.readlink()

    def _descriptors(self) -> list[Path]:
        try:
            return list((self.proc / "fd").iterdir())
        except PermissionError:
            raise _not_permitted(self.pid) from None
        except OSError:
            raise _ended(self.pid) from None


class _ForTheMoment(AttachRefused):
    """What may be over at once: whoever else has just attached to the program, or detached, still stops it."""


def running(pid: int, proc: Path = Path("/proc")) -> RunningProgram:
    """Find a program that can be attached to. Raises AttachRefused."""
    end_s = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return _running(pid, proc)
        except _ForTheMoment:
            if time.monotonic() > end_s:
                raise
            time.sleep(_POLL_S)


@dataclass(frozen=True, slots=True)
class Looked:
    """What /proc says of a program in this place of file systems and process ids."""

    proc: Path
    name: str
    status: dict[str, str]
    mapped: dict[str, int]


def looked_into(pid: int, proc: Path = Path("/proc")) -> Looked:
    """Look into a program of any kind. Raises AttachRefused for one that may not be looked into, or in a container."""
    found = _look(pid, proc)
    _check_namespaces(found.proc, pid, found.name)
    return found


def has_ended(pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether a program runs no more, also where its parent has yet to hear of it."""
    try:
        return _status(proc / str(pid)).get("State", "")[:1] in {"Z", "X"}
    except OSError:
        return True


def require_readable(agent: Path, pid: int, own: Path, name: str) -> None:
    """Refuse an agent that a program of another user may not read; `own` is its directory in /proc.

    Raises AttachRefused.
    """
    try:
        if own.stat().st_uid == os.geteuid():
            return
        status = _status(own)
    except OSError:
        raise _ended(pid) from None
    uid, gid = (int(status[kind].split()[1]) for kind in ("Uid", "Gid"))  # the effective ones
    groups = {gid, *map(int, status["Groups"].split())}
    needed = [(agent, os.R_OK), *((each, os.X_OK) for each in agent.resolve().parents)]
    if uid != 0 and not all(_may(uid, groups, path, what) for path, what in needed):
        raise AttachRefused(
            f"{name} ({pid}) runs as another user, who may not read {agent}: set XDG_CACHE_HOME to a directory that "
            "everyone may enter, such as /var/cache, and try again; the agent is built there"
        )


def _may(uid: int, groups: set[int], path: Path, what: int) -> bool:
    there = path.stat()
    return bool(there.st_mode >> (6 if there.st_uid == uid else 3 if there.st_gid in groups else 0) & what)


def _look(pid: int, proc: Path) -> Looked:
    own = proc / str(pid)
    try:
        name = (own / "comm").read_text(errors="replace").strip()
        return Looked(own, name, _status(own), _mapped(own, pid))
    except PermissionError:
        raise _not_permitted(pid) from None
    except OSError:
        raise _ended(pid) from None


def _running(pid: int, proc: Path) -> RunningProgram:
    found = _look(pid, proc)
    rocksdb = _rocksdb(found.proc, pid, found.name, found.mapped)
    _check_status(pid, found.name, found.status)
    _check_namespaces(found.proc, pid, found.name)
    return RunningProgram(pid, found.proc, found.name, rocksdb)


def _rocksdb(own: Path, pid: int, name: str, mapped: dict[str, int]) -> LoadedRocksDb:
    who = f"{name} ({pid})"
    for path, base in mapped.items():
        if _ROCKSDB.search(path.removesuffix(_REPLACED)):
            if path.endswith(_REPLACED):
                raise AttachRefused(
                    f"{who} runs a librocksdb that was replaced on the disk since, so no agent can be built for it: "
                    "restart it under `adocd exec`"
                )
            return LoadedRocksDb(Path(path), base)
    if any(_OWN_COPY.search(path) for path in mapped):
        raise AttachRefused(
            f"{who} brings its own copy of RocksDB, and the native agent is for the system's librocksdb.so: see "
            "docs/attach.md for its kind of program"
        )
    if _is_static(own / "exe"):
        raise AttachRefused(
            f"{who} is linked statically to RocksDB, which no agent can be loaded beside: link it to librocksdb.so, or "
            "link the agent into it (agents/native/README.md)"
        )
    # While its mappings change, the kernel may leave one out of its list.
    raise _ForTheMoment(f"{who} has no librocksdb loaded: there is nothing to attach to")


def _is_static(program: Path) -> bool:
    try:
        with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(ROCKSDB_MARK) >= 0
    except (OSError, ValueError):
        return False


def _check_status(pid: int, name: str, status: dict[str, str]) -> None:
    who = f"{name} ({pid})"
    if status.get("State", "").startswith("Z"):
        raise _ended(pid)
    if status.get("State", "")[:1] in {"T", "t"}:
        raise _ForTheMoment(f"{who} is stopped, and nothing can run in it: continue it first (kill -CONT {pid})")
    if tracer := int(status.get("TracerPid", "0")):
        raise _ForTheMoment(f"{who} is traced by process {tracer}, a debugger perhaps: end that first")
    if status.get("Seccomp", "0") != "0":
        raise AttachRefused(
            f"{who} has a seccomp filter, which could kill it for the system calls that loading a library takes: start "
            "it under `adocd exec` instead"
        )


def _check_namespaces(own: Path, pid: int, name: str) -> None:
    for kind, instead in (
        ("pid", "process ids of its own, as in a container: run adocd inside that container"),
        (
            "mnt",
            "file systems of its own, as in a container, where adocd has to run inside, or in a systemd unit with "
            f"PrivateTmp=, where `nsenter --target {pid} --mount` can run it",
        ),
    ):
        try:
            same = (own / "ns" / kind).readlink() == (own.parent / "self" / "ns" / kind).readlink()
        except PermissionError:
            raise _not_permitted(pid) from None
        except OSError:
            raise _ended(pid) from None
        if not same:
            raise AttachRefused(f"{name} ({pid}) has {instead}")


def _is_ours(path: Path) -> bool:
    """Whether only root and our user may write it, and those whom they trust with its group."""
    try:
        there = path.stat()
    except OSError:
        return False
    return there.st_uid in {0, os.geteuid()} and not there.st_mode & stat.S_IWOTH


def _mapped(own: Path, pid: int) -> dict[str, int]:
    """List the files that are mapped, each with its lowest address."""
    found: dict[str, int] = {}
    try:
        text = (own / "maps").read_text(errors="replace")
    except PermissionError:
        raise _not_permitted(pid) from None
    for line in text.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/"):
            found.setdefault(fields[5], int(fields[0].partition("-")[0], 16) - int(fields[2], 16))
    return found


def _status(own: Path) -> dict[str, str]:
    lines = (own / "status").read_text(errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _pointers_in(log: Path) -> set[int]:
    """Read the first pointers of a LOG: one for each database that writes into it."""
    with log.open("rb") as file:
        before = b""
        for _ in range(_LOG_HEAD_BYTES // _CHUNK_BYTES):
            chunk = file.read(_CHUNK_BYTES)
            if not chunk:
                break
            if found := _DB_POINTER.findall(before[-64:] + chunk):
                return {int(each, 16) for each in found}
            before = chunk
    return set()


def _not_permitted(pid: int) -> AttachRefused:
    return AttachRefused(
        f"process {pid} may not be looked into: it is another user's, or this user lacks CAP_SYS_PTRACE; run as root"
    )


def _ended(pid: int) -> AttachRefused:
    return AttachRefused(f"there is no process {pid}: it has ended, or was never there")

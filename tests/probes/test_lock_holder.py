"""Who has a database open, asked of the kernel: real locks of real processes."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adocd.probes.lock_holder import LockHolder, lock_holder, still_holds

#: Locks a file as RocksDB does, and says so.
LOCKS = (
    "import fcntl, sys; file = open(sys.argv[1], 'a'); fcntl.lockf(file, fcntl.LOCK_EX); print('locked', flush=True); "
    "sys.stdin.read()"
)


@contextmanager
def locked(path: Path) -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", LOCKS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process.pid
        process.kill()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "LOCK"
    path.touch()
    return path


def proc_of(root: Path, *pids: int) -> Path:
    """A /proc without `locks`, with these processes."""
    root.mkdir()
    for pid in pids:
        (root / str(pid)).symlink_to(f"/proc/{pid}")
    return root


def test_by_the_kernels_list_of_locks(lock: Path) -> None:
    assert lock_holder(lock) is None
    with locked(lock) as pid:
        holder = lock_holder(lock, search=False)
        assert holder is not None
        assert (holder.pid, holder.user) == (pid, getpass.getuser())
        assert holder.program == Path(os.path.realpath(sys.executable)).name
        assert still_holds(holder, lock)
    assert not still_holds(holder, lock)
    assert lock_holder(lock) is None


def test_by_open_files_where_there_is_no_such_list(lock: Path, tmp_path: Path) -> None:
    with locked(lock) as pid:
        proc = proc_of(tmp_path / "proc", os.getpid(), pid)
        assert lock_holder(lock, proc, search=False) is None
        holder = lock_holder(lock, proc)
        assert holder is not None
        assert holder.pid == pid
        assert still_holds(holder, lock, proc)
        other = tmp_path / "other" / "LOCK"
        other.parent.mkdir()
        other.touch()
        assert lock_holder(other, proc) is None
        assert not still_holds(holder, other, proc)


def test_who_waits_for_the_lock_does_not_hold_it(lock: Path, tmp_path: Path) -> None:
    status, proc = lock.stat(), proc_of(tmp_path / "proc", os.getpid())
    inode = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    lines = f"1: -> POSIX  ADVISORY  WRITE {os.getpid()} {inode} 0 EOF\n2: FLOCK  ADVISORY  WRITE 1 {inode} 0 EOF\n"
    (proc / "locks").write_text(lines + f"3: POSIX  ADVISORY  WRITE 0 {inode} 0 EOF\n")
    assert lock_holder(lock, proc) is None
    (proc / "locks").write_text(lines + f"3: POSIX  ADVISORY  WRITE {os.getpid()} {inode} 0 EOF\n")
    found = lock_holder(lock, proc)
    assert found is not None
    assert found.pid == os.getpid()


def test_another_process_with_the_same_number_is_another_one(lock: Path) -> None:
    with locked(lock) as pid:
        holder = lock_holder(lock)
        assert holder is not None
        assert not still_holds(LockHolder(pid, "1", holder.program, holder.user), lock)


def test_no_file_has_no_holder(tmp_path: Path) -> None:
    assert lock_holder(tmp_path / "LOCK") is None
    assert not still_holds(LockHolder(os.getpid(), "1", "x", "x"), tmp_path / "LOCK")

"""A run directory that others can write to, or own: what the daemon refuses, and what it is not fooled by."""

from __future__ import annotations

import contextlib
import fcntl
import grp
import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from adocd.api import server
from adocd.targets import run_dir
from tests.cli.harness import command
from tests.support.users import ALICE, BOB, GROUP, ROOT, somebody

as_root = pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_the_daemon_refuses_one_that_everyone_may_write_to(base: Path, mode: int) -> None:
    directory = base / "open"
    directory.mkdir()
    directory.chmod(mode)
    sentence = command("adocd", "serve", run_dir=directory).failed(1, "everyone may write to", str(directory))
    assert "chmod o-w" in sentence
    assert list(directory.iterdir()) == []


@as_root
def test_the_daemon_refuses_one_of_a_stranger(base: Path) -> None:
    directory = base / "theirs"
    directory.mkdir(0o700)
    os.chown(directory, ALICE, ALICE)
    command("adocd", "serve", run_dir=directory).failed(1, f"belongs to uid {ALICE}", "chown")
    assert list(directory.iterdir()) == []


def test_a_link_is_as_good_as_what_it_leads_to(base: Path) -> None:
    for name, mode in (("closed", 0o700), ("open", 0o777)):
        (base / name).mkdir()
        (base / name).chmod(mode)
        (base / f"to-{name}").symlink_to(base / name)
    run_dir.check(base / "to-closed")
    with pytest.raises(ValueError, match="everyone may write"):
        run_dir.check(base / "to-open")
    (base / "to-nothing").symlink_to(base / "nothing")
    with pytest.raises(OSError, match="exists"):
        run_dir.ensure(base / "to-nothing")


@pytest.mark.parametrize("mode", [0o2770, 0o700, 0o755])
def test_it_is_content_with_its_own(base: Path, mode: int) -> None:
    directory = base / "own"
    directory.mkdir()
    directory.chmod(mode)
    run_dir.ensure(directory)
    run_dir.check(directory)
    assert stat.S_IMODE(directory.stat().st_mode) == mode


def test_root_makes_it_for_the_group(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it does not matter whether the daemon or a database is started first."""
    group = GROUP if ROOT else os.getegid()
    monkeypatch.setattr(grp, "getgrnam", lambda _: SimpleNamespace(gr_gid=group))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    run_dir.ensure(base / "made")
    made = (base / "made").stat()
    assert (made.st_gid, stat.S_IMODE(made.st_mode)) == (group, 0o2770)


def test_a_lock_that_is_a_link_is_not_followed(base: Path) -> None:
    """Else everyone in the group could have root empty any file."""
    victim = base / "victim"
    victim.write_text("precious")
    run = base / "run"
    run.mkdir()
    (run / "daemon.lock").symlink_to(victim)
    command("adocd", "serve", run_dir=run).failed(1, "cannot be used")
    assert victim.read_text() == "precious"
    (run / "daemon.lock").unlink()
    os.link(victim, run / "daemon.lock")
    with server.daemon_socket(run / "daemon.sock"):
        assert victim.read_text() == "precious"


@pytest.mark.parametrize("kind", ["fifo", "directory"])
def test_a_lock_that_is_no_file(base: Path, kind: str) -> None:
    lock = base / "daemon.lock"
    if kind == "fifo":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    with pytest.raises(OSError, match="daemon"), server.daemon_socket(base / "daemon.sock"):
        pass


def test_a_socket_that_is_a_link_is_replaced(base: Path) -> None:
    victim = base / "victim"
    victim.write_text("precious")
    victim.chmod(0o600)
    path = base / "daemon.sock"
    path.symlink_to(victim)
    with server.daemon_socket(path):
        status = path.lstat()
        assert stat.S_ISSOCK(status.st_mode)
        assert stat.S_IMODE(status.st_mode) == 0o660
    assert (victim.read_text(), stat.S_IMODE(victim.stat().st_mode)) == ("precious", 0o600)


@as_root
def test_what_roots_daemon_left_behind_is_no_obstacle(shared: Path) -> None:
    """An operator tries `adocd serve` as root, and then the service starts as its own user."""
    path = shared / "daemon.sock"
    with server.daemon_socket(path):
        pass
    with somebody(ALICE, [GROUP]), server.daemon_socket(path):
        assert path.stat().st_uid == ALICE
        descriptor = os.open(path.with_suffix(".lock"), os.O_RDONLY)
        with contextlib.closing(os.fdopen(descriptor)), pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with somebody(BOB), pytest.raises(PermissionError), server.daemon_socket(path):
        pass

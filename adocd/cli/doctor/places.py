"""Checks of files: the run directory and its group, the journal and its disk, the configuration.

The user who asks may not be allowed to look into the state directory: os.path.exists says no then, Path.exists raises.
"""

import grp
import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adocd.cli.doctor.finding import DoctorFinding, ok, problem, warning
from adocd.daemon.book.state_dir import journal_path
from adocd.model.in_words import size
from adocd.targets import run_dir

_GROUP = "adocd"
_MIB = 1 << 20
#: Below these the journal's disk is too full: adocd journals every change before it makes it.
_DISK_PROBLEM_BYTES, _DISK_WARNING_BYTES = 16 * _MIB, 256 * _MIB
#: A file newer than now by this much was written before the clock was set back.
_FUTURE_S = 60.0


def run_directory(directory: Path) -> Iterator[DoctorFinding]:
    """Check the run directory: whether it exists, who may enter it, and whether this user may."""
    check = "run directory"
    chosen = "ADOCD_RUN_DIR" if os.environ.get("ADOCD_RUN_DIR") else "the default"
    try:
        status = directory.stat()
    except FileNotFoundError:
        yield problem(
            check, f"{directory} does not exist ({chosen})",
            "start `adocd serve`, which makes it, or set ADOCD_RUN_DIR to the daemon's",
        )  # fmt: skip
        return
    except OSError as error:
        yield problem(
            check, f"{directory} cannot be looked at: {error.strerror}", "ask as root or as the daemon's user"
        )
        return
    if not stat.S_ISDIR(status.st_mode):
        yield problem(check, f"{directory} is no directory", "remove it, or choose another ADOCD_RUN_DIR")
        return
    try:
        run_dir.check(directory)
    except (OSError, ValueError) as error:
        yield problem(check, str(error), "until that is fixed, agents cannot trust what is in it")
        return
    group = _group_name(status.st_gid)
    if not os.access(directory, os.W_OK | os.X_OK):
        yield problem(
            check, f"{directory} (mode {stat.S_IMODE(status.st_mode):04o}, group {group}) is closed to this user",
            f"ask as root, or join its group by `usermod --append --groups {group} USER` and log in anew",
        )  # fmt: skip
        return
    yield ok(check, f"{directory}: mode {stat.S_IMODE(status.st_mode):04o}, group {group} ({chosen})")
    yield from _shared(directory, status, group)


def _shared(directory: Path, status: os.stat_result, group: str) -> Iterator[DoctorFinding]:
    """Check whether databases of other users can put their sockets there."""
    if os.environ.get("ADOCD_RUN_DIR") or directory != Path("/run/adocd"):
        return
    if not _exists(_GROUP):
        yield ok("group", f"there is no group {_GROUP}: only root's databases can attach")
    elif group != _GROUP:
        yield warning(
            "group", f"{directory} belongs to the group {group}, so databases of other users cannot attach",
            f"chgrp {_GROUP} {directory}; chmod 2770 {directory}",
        )  # fmt: skip
    elif not status.st_mode & stat.S_ISGID or not status.st_mode & stat.S_IWGRP:
        yield warning("group", f"the group {_GROUP} cannot write to {directory}", f"chmod 2770 {directory}")
    else:
        members = ", ".join(grp.getgrnam(_GROUP).gr_mem) or "nobody beside its own user"
        yield ok("group", f"{_GROUP} may attach in {directory}; members: {members}")


def journal(directory: Path, health: dict[str, Any] | None) -> Iterator[DoctorFinding]:
    """Check the journal, through the daemon if it answers, and the disk that holds it."""
    check = "journal"
    path = journal_path(directory) if health is None else Path(health["journal"]["path"])
    if health is not None and (trouble := health["journal"]["problem"]):
        yield problem(
            check, f"nothing new is changed: {trouble}", f"make room for {path}, or give it to the daemon's user"
        )
    elif health is not None:
        yield ok(check, f"{path} is written by the daemon")
    elif os.path.exists(path.parent) and not os.access(path.parent, os.W_OK | os.X_OK):
        yield warning(
            check, f"{path.parent} cannot be written by this user", "run `adocd serve` as the user that owns it"
        )
    elif not os.path.exists(path):
        yield ok(check, f"{path} will be made by the first `adocd serve`")
    elif not os.access(path, os.R_OK | os.W_OK):
        yield warning(check, f"{path} cannot be written by this user", "run `adocd serve` as the user that owns it")
    else:
        yield ok(check, f"{path} can be written")
    if health is not None and (rescued := health["journal"]["rescued"]):
        yield warning(
            check,
            f"the daemon had to mend it: {rescued}",
            "find out what damaged it: a program or the disk; nothing else needs doing",
        )
    yield from _disk(path)


def _disk(path: Path) -> Iterator[DoctorFinding]:
    place = next((each for each in (path, *path.parents) if os.path.exists(each)), Path("/"))
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        yield warning("disk of the journal", f"the disk of {place} cannot be asked: {error.strerror}", "ask as root")
        return
    what = f"{size(free)} are free for {path}"
    if free < _DISK_PROBLEM_BYTES:
        yield problem("disk of the journal", what, "make room: without it nothing new is changed")
    elif free < _DISK_WARNING_BYTES:
        yield warning("disk of the journal", what, "make room before it is full: then nothing new is changed")
    else:
        yield ok("disk of the journal", what)


def clock(directory: Path, now_s: float | None = None) -> Iterator[DoctorFinding]:
    """Check whether the clock went back: expiries and the times of decisions depend on it."""
    now_s = time.time() if now_s is None else now_s
    path = journal_path(directory)
    newest_s = max((_written_s(each) for each in (path, path.with_name(path.name + "-wal"))), default=0.0)
    if newest_s > now_s + _FUTURE_S:
        yield warning(
            "clock", f"{path} was written {newest_s - now_s:.0f} s in the future: the clock went back",
            "synchronize the clock by NTP (timedatectl set-ntp true); pins last longer by that time",
        )  # fmt: skip
    else:
        yield ok("clock", f"it is {time.strftime('%Y-%m-%d %H:%M:%S %Z', time.localtime(now_s))}")


def configuration(path: Path) -> Iterator[DoctorFinding]:
    """Check the system's configuration file, if there is one."""
    from adocd.daemon.fleet.config import ConfigError, load  # noqa: PLC0415

    if not os.path.exists(path):
        yield ok("configuration", f"there is no {path}: defaults apply, unless `serve --config` names another file")
        return
    try:
        load(path)
    except ConfigError as error:
        yield problem("configuration", str(error), f"correct it; `adocd check-config {path}` says whether it is good")
    else:
        yield ok("configuration", f"{path} is good")


def _written_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _exists(group: str) -> bool:
    try:
        grp.getgrnam(group)
    except KeyError:
        return False
    return True

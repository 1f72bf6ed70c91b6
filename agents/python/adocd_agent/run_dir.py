"""Where the socket goes, how it gets there, and who may talk to it: the same rules as the native agent's."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import secrets
import socket
import stat
from collections.abc import Mapping
from pathlib import Path

SYSTEM_DIRECTORY = Path("/run/adocd")
_SUN_PATH_BYTES = 108
"""A Unix socket's path, with its closing NUL, must fit into sockaddr_un (unix(7))."""
_BACKLOG = 128
_MAX_NAMES = 100


class CannotListen(Exception):
    """Why there is no socket, in one sentence without its full stop."""


def find_run_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Find the run directory by the protocol's rule; root creates /run/adocd."""
    chosen = environment.get("ADOCD_RUN_DIR")
    if chosen:
        if not os.path.isabs(chosen):
            raise CannotListen(f"ADOCD_RUN_DIR must be a whole path, not {chosen!r}: a daemon would look elsewhere")
        if _is_usable(Path(chosen)):
            return Path(chosen)
        raise CannotListen(f"ADOCD_RUN_DIR is {chosen!r}, which is no directory this process may write to; create it")
    if os.geteuid() == 0 and not SYSTEM_DIRECTORY.is_dir():
        _create_system_directory()
    if _is_usable(SYSTEM_DIRECTORY):
        return SYSTEM_DIRECTORY
    runtime = environment.get("XDG_RUNTIME_DIR")
    if runtime:
        path = Path(runtime) / "adocd"
        with contextlib.suppress(OSError):
            path.mkdir(mode=0o700)
        if _is_usable(path):
            return path
    raise CannotListen(
        f"no run directory: {SYSTEM_DIRECTORY} cannot be written and XDG_RUNTIME_DIR gives none; set ADOCD_RUN_DIR"
    )


def listen(directory: Path) -> tuple[socket.socket, Path]:
    """Listen under a temporary name and move the socket to `agent-<pid>.sock` once it does."""
    base = directory / f"agent-{os.getpid()}"
    if len(os.fsencode(f"{base}-{_MAX_NAMES}.sock")) >= _SUN_PATH_BYTES:
        raise CannotListen(
            f"the socket path {base}.sock is longer than a Unix socket's may be ({_SUN_PATH_BYTES - 1} bytes); "
            "set ADOCD_RUN_DIR to a shorter one"
        )
    temporary = directory / f".{secrets.token_hex(4)}.new"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(temporary))
        _open_to_the_group(temporary)
        listener.listen(_BACKLOG)
        return listener, _take_name(temporary, base)
    except OSError as error:
        listener.close()
        raise CannotListen(f"cannot listen in {directory}: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _open_to_the_group(path: Path) -> None:
    """Make a socket's mode 0660, and nothing else's: whoever may write to the directory can swap it for a link."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOTSOCK, "somebody replaces files there while we make them")
        os.chmod(f"/proc/self/fd/{descriptor}", 0o660)
    finally:
        os.close(descriptor)


def _take_name(temporary: Path, base: Path) -> Path:
    for number in range(1, _MAX_NAMES):
        name = Path(f"{base}.sock" if number == 1 else f"{base}-{number}.sock")
        try:
            os.link(temporary, name)  # unlike rename, never replaces another agent of this process
            return name
        except FileExistsError:
            if _is_alive(name):
                continue
            os.replace(temporary, name)  # left behind by an earlier process of this pid
            return name
        except OSError:  # a file system without hard links
            os.replace(temporary, name)
            return name
    raise OSError(errno.EEXIST, f"every name from {base}.sock on is taken by a living agent")


def _is_alive(name: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        result = probe.connect_ex(str(name))
    return result not in (errno.ECONNREFUSED, errno.ENOENT)


def allowed_uids(environment: Mapping[str, str] = os.environ) -> frozenset[int]:
    """Return who may talk to this process: root, its own user, the user adocd, and ADOCD_ALLOW_UIDS."""
    allowed = {0, os.geteuid()}
    with contextlib.suppress(KeyError):
        allowed.add(pwd.getpwnam("adocd").pw_uid)
    words = [word.strip() for word in environment.get("ADOCD_ALLOW_UIDS", "").split(",")]
    return frozenset(allowed | {int(word) for word in words if word.isascii() and word.isdigit()})


def user_name() -> str:
    """Return the name of the process's effective user, its uid where it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _is_usable(path: Path) -> bool:
    return path.is_dir() and os.access(path, os.W_OK | os.X_OK)


def _create_system_directory() -> None:
    with contextlib.suppress(OSError):
        SYSTEM_DIRECTORY.mkdir(mode=0o770)
        with contextlib.suppress(KeyError):
            os.chown(SYSTEM_DIRECTORY, -1, grp.getgrnam("adocd").gr_gid)
        os.chmod(SYSTEM_DIRECTORY, 0o2770)  # noqa: S103 (the group is adocd's); after chown, which clears the set-group-ID bit

"""The run directory, where agents and the daemon put their sockets."""

import contextlib
import grp
import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path

#: A Unix socket's path, with its closing NUL, must fit into sockaddr_un (unix(7)).
_SUN_PATH_BYTES = 108


class BadRunDir(ValueError):
    """ADOCD_RUN_DIR names no directory that everyone would understand the same way; the message is one sentence."""


def run_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the run directory by the protocol's rule, without creating it.

    `ADOCD_RUN_DIR` if set; else /run/adocd for root, and for others if they may use it; else $XDG_RUNTIME_DIR/adocd if
    that is set; else /run/adocd. Raises BadRunDir if `ADOCD_RUN_DIR` is relative: each program would find another.
    """
    if chosen := environment.get("ADOCD_RUN_DIR"):
        if not Path(chosen).is_absolute():
            raise BadRunDir(f"ADOCD_RUN_DIR must be a whole path, such as {Path.cwd() / chosen}, not {chosen!r}")
        return Path(chosen)
    system = Path("/run/adocd")
    if os.geteuid() == 0 or os.access(system, os.W_OK | os.X_OK):
        return system
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        return Path(runtime) / "adocd"
    return system


def ensure(directory: Path) -> None:
    """Create the run directory if missing, so that only its owner and group can enter.

    Raises OSError if it cannot be created, ValueError if a socket's path in it would be too long.
    """
    longest = directory / "agent-4194304-99.sock"
    if len(os.fsencode(longest)) >= _SUN_PATH_BYTES:
        raise ValueError(f"the run directory {directory} is too long for a Unix socket's path; choose a shorter one")
    try:
        directory.mkdir(mode=0o770, parents=True)
    except FileExistsError:
        if not directory.is_dir():
            raise
        return  # even if another process has made it at this moment: then its mode is that one's to set
    if os.geteuid() == 0:
        with contextlib.suppress(KeyError):
            os.chown(directory, -1, grp.getgrnam("adocd").gr_gid)
    directory.chmod(0o2770 if os.geteuid() == 0 else 0o700)  # after chown, which clears the set-group-ID bit


def check(directory: Path) -> None:
    """Refuse to serve in a directory that others own or everyone may write to; for a symbolic link, check its target.

    Whoever can write to it can place fake agents there, or a daemon in place of ours; its group is trusted with that.
    An agent does not check this, because the kernel tells it who its peers are, whoever owns the directory. Raises
    ValueError, and OSError if the directory does not exist.
    """
    status = directory.stat()
    if status.st_mode & stat.S_IWOTH:
        raise ValueError(
            f"everyone may write to the run directory {directory}, and so pass for an agent or for the daemon; "
            f"close it by chmod o-w, or choose another ADOCD_RUN_DIR"
        )
    if status.st_uid not in trusted_owners():
        raise ValueError(
            f"the run directory {directory} belongs to uid {status.st_uid}, who is neither root, adocd nor the user of "
            f"this process; give it to one of these by chown, or choose another ADOCD_RUN_DIR"
        )


def trusted_owners() -> set[int]:
    """Return the uids that we trust: root, the user of this process, and the user adocd if it exists."""
    owners = {0, os.geteuid()}
    with contextlib.suppress(KeyError):
        owners.add(pwd.getpwnam("adocd").pw_uid)
    return owners


def agent_sockets(directory: Path) -> list[Path]:
    """Return the agents' sockets, oldest name first; an empty list if there is no directory.

    Links are not followed: somebody could make us, who may be root, talk to another service's socket for them.
    """
    try:
        return sorted(path for path in directory.glob("agent-*.sock") if _is_socket(path))
    except OSError:
        return []


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:  # it has just been removed
        return False


def daemon_socket(directory: Path) -> Path:
    """Return the path of the daemon's own socket."""
    return directory / "daemon.sock"

"""Where agents and the daemon put their sockets."""

import os
from collections.abc import Mapping
from pathlib import Path

#: A Unix socket's path, with its closing NUL, must fit into sockaddr_un (unix(7)).
_SUN_PATH_BYTES = 108


def run_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Find the run directory by the protocol's rule, without creating it.

    `ADOCD_RUN_DIR`; else /run/adocd for root, and for others where they may use it; else $XDG_RUNTIME_DIR/adocd;
    else /run/adocd.
    """
    if chosen := environment.get("ADOCD_RUN_DIR"):
        return Path(chosen)
    system = Path("/run/adocd")
    if os.geteuid() == 0 or os.access(system, os.W_OK | os.X_OK):
        return system
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        return Path(runtime) / "adocd"
    return system


def ensure(directory: Path) -> None:
    """Create the run directory where it is missing, so that only its owner and group can enter.

    Raises OSError where it cannot be made, ValueError where a socket's path in it would be too long.
    """
    longest = directory / "agent-4194304-99.sock"
    if len(os.fsencode(longest)) >= _SUN_PATH_BYTES:
        raise ValueError(f"the run directory {directory} is too long for a Unix socket's path; choose a shorter one")
    if not directory.is_dir():
        directory.mkdir(mode=0o770, parents=True)
        directory.chmod(0o2770 if os.geteuid() == 0 else 0o700)


def agent_sockets(directory: Path) -> list[Path]:
    """List the agents' sockets, oldest name first; an empty list where there is no directory."""
    try:
        return sorted(path for path in directory.glob("agent-*.sock") if path.is_socket())
    except OSError:
        return []


def daemon_socket(directory: Path) -> Path:
    """Name the daemon's own socket."""
    return directory / "daemon.sock"

"""Where the journal and the files beside it are kept."""

import os
from collections.abc import Mapping
from pathlib import Path


def journal_path(run_dir: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the journal's path.

    It is in `STATE_DIRECTORY` (systemd.exec(5), StateDirectory=) if set; else beside the sockets if `ADOCD_RUN_DIR`
    sets the run directory, so that daemons with different run directories never share a journal; else in /var/lib/adocd
    for root, and in $XDG_STATE_HOME/adocd or ~/.local/state/adocd for others.
    """
    if directory := environment.get("STATE_DIRECTORY", "").partition(":")[0]:
        return Path(directory) / _NAME
    if environment.get("ADOCD_RUN_DIR"):
        return run_dir / _NAME
    if os.geteuid() == 0:
        return Path("/var/lib/adocd") / _NAME
    home = environment.get("XDG_STATE_HOME") or Path(environment.get("HOME") or Path.home()) / ".local/state"
    return Path(home) / "adocd" / _NAME


def sync_directory(directory: Path) -> None:
    """Make renames in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_NAME = "journal.sqlite"

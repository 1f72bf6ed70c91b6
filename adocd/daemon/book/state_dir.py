"""Where the journal is kept, and what is beside it."""

import os
from collections.abc import Mapping
from pathlib import Path


def journal_path(run_dir: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Name the journal's file.

    In `STATE_DIRECTORY` (systemd.exec(5), StateDirectory=); else beside the sockets where `ADOCD_RUN_DIR` chooses the
    run directory, so that daemons with directories of their own never meet; else in /var/lib/adocd for root, and for
    others in $XDG_STATE_HOME/adocd or ~/.local/state/adocd.
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

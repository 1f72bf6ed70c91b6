"""Which release of the agent this is."""

from __future__ import annotations

from importlib import metadata


def _version() -> str:
    """Return the version of the installed distribution, "unknown" where the package came without one."""
    try:
        return metadata.version("adocd-agent")
    except metadata.PackageNotFoundError:
        return "unknown"


__version__ = _version()

"""Stands in for systemd where none can be booted: starts a unit's ExecStart with its environment, and no more.

Users, groups, sandboxing and restarts are systemd's and are not shown by it.
"""

from __future__ import annotations

import shlex
from pathlib import Path


def settings(*files: Path) -> dict[str, list[str]]:
    """Read what a unit and its drop-ins set in [Service], by key, in order."""
    found: dict[str, list[str]] = {}
    for file in files:
        section = ""
        for line in file.read_text().replace("\\\n", " ").splitlines():
            if line.startswith("["):
                section = line
            elif section == "[Service]" and "=" in line and not line.startswith(("#", ";")):
                key, _, value = line.partition("=")
                found.setdefault(key, []).append(value)
    return found


def command(read: dict[str, list[str]]) -> list[str]:
    """Return the ExecStart of a unit."""
    (line,) = read["ExecStart"]
    return shlex.split(line)


def environment(read: dict[str, list[str]]) -> dict[str, str]:
    """Return the Environment of a unit, drop-ins included."""
    words = [word for line in read.get("Environment", []) for word in shlex.split(line)]
    return {name: value for name, _, value in (word.partition("=") for word in words)}

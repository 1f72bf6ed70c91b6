"""How much memory a process can have at most: the machine's, or less where a cgroup says so."""

from pathlib import Path

#: /proc/meminfo counts in these.
_KIB = 1024


def memory_limit_bytes(pid: int, root: Path = Path("/")) -> int | None:
    """Read the least of MemTotal and the memory.max (cgroup v2) of the process's groups; None where nothing is said.

    `root` is the root of the file system. `pid` must be as this process numbers it; a cgroup v1 limit is read, too.
    """
    limits = [limit for limit in (_machine(root), cgroup_limit_bytes(pid, root)) if limit is not None]
    return min(limits, default=None)


def cgroup_limit_bytes(pid: int, root: Path = Path("/")) -> int | None:
    """Read what the process's cgroups allow it; None where they allow it all that there is."""
    allowed = min((limit for limit in _groups(pid, root) if limit is not None), default=None)
    machine = _machine(root)
    # Without a limit cgroup v1 has a number that no machine reaches.
    return None if allowed is None or (machine is not None and allowed >= machine) else allowed


def available_bytes(pid: int, root: Path = Path("/")) -> int | None:
    """Read what is free for the process: MemAvailable, or less where its cgroup is nearly full.

    What a group uses without the file cache that it could drop counts as taken (memory.stat, inactive_file).
    """
    free = [_machine(root, "MemAvailable")]
    for directory in _directories(pid, root):
        limit = _limit(directory / "memory.max")
        used = _limit(directory / "memory.current")
        if limit is not None and used is not None:
            free.append(max(0, limit - max(0, used - _droppable(directory))))
    return min((found for found in free if found is not None), default=None)


def _droppable(directory: Path) -> int:
    for line in _read(directory / "memory.stat").split("\n"):
        name, _, value = line.partition(" ")
        if name == "inactive_file" and value.isdecimal():
            return int(value)
    return 0


def _machine(root: Path, member: str = "MemTotal") -> int | None:
    for line in _read(root / "proc/meminfo").split("\n"):
        name, _, value = line.partition(":")
        if name == member and value.split()[:1] and value.split()[0].isdecimal():
            return int(value.split()[0]) * _KIB
    return None


def _groups(pid: int, root: Path) -> list[int | None]:
    return [
        _limit(directory / name)
        for directory in _directories(pid, root)
        for name in ("memory.max", "memory.limit_in_bytes")
    ]


def _directories(pid: int, root: Path) -> list[Path]:
    """List the process's memory cgroups and their parents, whose limits bind as well."""
    found: list[Path] = []
    for line in _read(root / f"proc/{pid}/cgroup").split("\n"):
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        # ".." leads to a group outside of this process's own cgroup namespace, which cannot be read from here.
        if controllers not in ("", "memory") or not group or ".." in group.split("/"):
            continue
        mount = root / "sys/fs/cgroup" / controllers
        below = mount / group.lstrip("/")
        found += [directory for directory in (below, *below.parents) if directory.is_relative_to(mount)]
    return found


def _limit(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

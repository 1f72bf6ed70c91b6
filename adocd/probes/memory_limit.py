"""The most memory that a process can have: the machine's, or less by a cgroup's limit."""

from pathlib import Path

from adocd.probes.cgroup import Group, groups_of
from adocd.probes.files import natural, text_or

#: Unit of /proc/meminfo, in bytes.
_KIB = 1024
#: The files that have a group's limit and use, and the line of memory.stat that has the file cache it could drop.
_V2 = ("memory.max", "memory.current", "inactive_file")
#: The line without `total_` leaves out the groups below, whose memory is in usage_in_bytes.
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def memory_limit_bytes(pid: int, root: Path = Path("/")) -> int | None:
    """Return the least of MemTotal and the memory.max (cgroup v2) of the process's groups; None if none can be read.

    `root` is the root of the file system. `pid` is in this process's PID namespace. A cgroup v1 limit counts too.
    """
    of_group = cgroup_limit_bytes(pid, root)
    return machine_bytes(root) if of_group is None else of_group


def cgroup_limit_bytes(pid: int, root: Path = Path("/")) -> int | None:
    """Return the memory limit of the process's cgroups in bytes; None if they have none."""
    groups = groups_of(pid, "memory", root)
    # A parent's limit applies too.
    return _least([(group, directory) for group in groups for directory in group.directories], root)


def container_limit_bytes(pid: int, root: Path = Path("/")) -> int | None:
    """Return the memory limit in bytes of the container that the process is in; None if it has none.

    It is set at the topmost group that can be seen from here, so it holds for all processes that can be. The limit of a
    group below, such as a systemd service, holds for that alone.
    """
    return _least([(group, group.directories[-1]) for group in groups_of(pid, "memory", root)], root)


def cgroup_available_bytes(pid: int, root: Path = Path("/")) -> int | None:
    """Return what the process's cgroups still have below their limits, in bytes; None if it cannot be read.

    A group's used memory excludes the file cache that it could drop.
    """
    groups = groups_of(pid, "memory", root)
    free = [_free_in(directory, *_names(group)) for group in groups for directory in group.directories]
    return min((found for found in free if found is not None), default=None)


def machine_bytes(root: Path = Path("/")) -> int | None:
    """Return the machine's memory (MemTotal), in bytes; None if it cannot be read."""
    return _machine(root)


def machine_available_bytes(root: Path = Path("/")) -> int | None:
    """Return what the machine can give without swapping (MemAvailable), in bytes; None if it cannot be read."""
    return _machine(root, "MemAvailable")


def _names(group: Group) -> tuple[str, str, str]:
    return _V2 if group.unified else _V1


def _free_in(directory: Path, limit_file: str, used_file: str, droppable_line: str) -> int | None:
    limit, used = (natural(text_or(directory / name)) for name in (limit_file, used_file))
    if limit is None or used is None:
        return None
    return max(0, limit - max(0, used - _droppable(directory, droppable_line)))


def _droppable(directory: Path, sought: str) -> int:
    for line in text_or(directory / "memory.stat").split("\n"):
        name, _, value = line.partition(" ")
        if name == sought:
            return natural(value) or 0
    return 0


def _machine(root: Path, member: str = "MemTotal") -> int | None:
    for line in text_or(root / "proc/meminfo").split("\n"):
        name, _, value = line.partition(":")
        kib = natural(value.removesuffix("kB").strip())
        if name == member and kib is not None:
            return kib * _KIB
    return None


def _least(places: list[tuple[Group, Path]], root: Path) -> int | None:
    limits = (natural(text_or(directory / _names(group)[0])) for group, directory in places)
    allowed, machine = min((limit for limit in limits if limit is not None), default=None), _machine(root)
    # Without a limit, cgroup v1 shows a number that no machine reaches.
    return None if allowed is None or (machine is not None and allowed >= machine) else allowed

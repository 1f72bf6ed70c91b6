"""The cgroup directories of a process: its own and those above it (cgroups(7))."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from adocd.model.missing import Missing
from adocd.probes.files import text_or
from adocd.probes.mounts import Mount, read_mounts

#: Deeper than any nested container; a longer path is nonsense and would be slow to walk up.
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Group:
    """A process's place in one hierarchy: `directories` begins with its own and ends with the mount's."""

    unified: bool
    directories: tuple[Path, ...]


def groups_of(pid: int, controller: str, root: Path = Path("/")) -> tuple[Group, ...]:
    """Find the process's place in cgroup v2, and in the v1 hierarchy that has the controller, as far as they exist.

    `pid` is in this process's PID namespace. A group outside this process's cgroup namespace (`/../`) cannot be read
    from here and is left out.
    """
    mounts = read_mounts(root / "proc", kind="cgroup")
    known = [] if isinstance(mounts, Missing) else mounts
    found = []
    for line in text_or(root / f"proc/{pid}/cgroup").split("\n"):
        _, _, rest = line.partition(":")
        names, colon, group = rest.partition(":")
        if not colon or not group or (names and controller not in names.split(",")):
            continue
        point, below = _place(names, group, known)
        if ".." not in below.parts and len(below.parts) <= _DEEPEST:
            mount = root / point.lstrip("/")
            found.append(Group(not names, tuple(mount / part for part in (below, *below.parents))))
    return tuple(found)


def _place(names: str, group: str, mounts: list[Mount]) -> tuple[str, PurePosixPath]:
    """Find the hierarchy's mount point and the group's path below it.

    A container's mount often shows only its own part of a v1 hierarchy (mountinfo's root), while /proc/PID/cgroup
    still has the whole path.
    """
    below = PurePosixPath(group.lstrip("/"))
    for mount in mounts:
        if mount.filesystem == ("cgroup" if names else "cgroup2") and (
            not names or set(names.split(",")) <= set(mount.options.split(","))
        ):
            shown = PurePosixPath(mount.root.lstrip("/"))
            if shown.parts and below.is_relative_to(shown):
                below = below.relative_to(shown)
            return str(mount.point), below
    return f"/sys/fs/cgroup/{names}", below

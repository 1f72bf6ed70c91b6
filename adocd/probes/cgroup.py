"""The cgroup directories of a process: its own and those above it (cgroups(7))."""

from collections.abc import Collection
from dataclasses import dataclass
from os.path import isdir
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
    """Find the process's place in the v1 hierarchy that has the controller, or else in cgroup v2.

    `pid` is in this process's PID namespace. A group is left out if its directory cannot be seen from here: those above
    it that can be would be another's, such as this process's own container.
    """
    return tuple(group for group in _listed(pid, (controller,), root)[controller] if group is not None)


def are_seen(pid: int, controllers: Collection[str], root: Path = Path("/")) -> dict[str, bool | None]:
    """Say of each controller whether the process's group can be seen from here; None if it is in no such group."""
    listed = _listed(pid, controllers, root)
    return {controller: None not in groups if groups else None for controller, groups in listed.items()}


def _listed(pid: int, controllers: Collection[str], root: Path) -> dict[str, list[Group | None]]:
    """Return the groups that /proc lists, by controller; None stands for one that cannot be seen."""
    mounts = read_mounts(root / "proc", kind="cgroup")
    known = [] if isinstance(mounts, Missing) else mounts
    unified: list[Group | None] = []
    found: dict[str, list[Group | None]] = {controller: [] for controller in controllers}
    for line in text_or(root / f"proc/{pid}/cgroup").split("\n"):
        _, _, rest = line.partition(":")
        names, colon, path = rest.partition(":")
        if colon and path and not names:
            unified.append(_group(names, path, known, root))
        elif colon and path:
            for controller in found.keys() & set(names.split(",")):
                found[controller].append(_group(names, path, known, root))
    # A controller is in one hierarchy, and v2 lists every process.
    return {controller: groups or unified for controller, groups in found.items()}


def _group(names: str, path: str, mounts: list[Mount], root: Path) -> Group | None:
    point, below = _place(names, path, mounts)
    mount = root / point.lstrip("/")
    if ".." in below.parts or len(below.parts) > _DEEPEST or not isdir(mount / below):
        return None
    return Group(not names, tuple(mount / part for part in (below, *below.parents)))


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

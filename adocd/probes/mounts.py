"""Finds the mount that holds a path, from /proc/PID/mountinfo (proc_pid_mountinfo(5))."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from adocd.model.missing import Missing
from adocd.probes.files import read_text

#: The number of links that the kernel follows (MAXSYMLINKS).
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class Mount:
    """The needed parts of a mountinfo line: `number` is `major:minor`, `root` the mounted part of the file system."""

    id: str
    parent: str
    number: str
    root: str
    point: Path
    filesystem: str
    source: str
    options: str

    def option(self, name: str) -> str | None:
        """Return an option of the file system itself, such as overlay's `upperdir`."""
        for option in self.options.split(","):
            key, equals, value = option.partition("=")
            if key == name and equals:
                return _unescape(value)
        return None


def read_mounts(proc: Path, pid: int | None = None, kind: str = "") -> list[Mount] | Missing:
    """Read all mounts that the process (this one, if None) sees; invalid lines are left out.

    With `kind`, only file systems whose type begins with it: a host of containers has hundreds of others.
    """
    text = read_text(proc / (str(pid) if pid is not None else "self") / "mountinfo")
    if isinstance(text, Missing):
        return text
    mounts = []
    for line in text.split("\n"):
        before, separator, after = line.partition(" - ")
        if not after.startswith(kind):
            continue
        fields, origin = before.split(" "), after.split(" ")
        if separator and len(fields) >= 6 and len(origin) >= 2:
            mounts.append(
                Mount(
                    id=fields[0],
                    parent=fields[1],
                    number=fields[2],
                    root=_unescape(fields[3]),
                    point=Path(_unescape(fields[4])),
                    filesystem=origin[0],
                    source=_unescape(origin[1]),
                    options=origin[2] if len(origin) > 2 else "",
                )
            )
    return mounts


def holder(path: Path, mounts: list[Mount]) -> Mount | None:
    """Find the mount that holds an absolute path without links.

    Like the kernel, it walks from the root mount down: a mount hidden by a later one on a parent directory is still
    listed but cannot be reached. A process in a chroot may not see the root mount; then the longest mount point counts,
    and the latest of several.
    """
    ids = {mount.id for mount in mounts}
    roots = [mount for mount in mounts if mount.point == Path("/")]
    current = next((mount for mount in roots if mount.parent == mount.id or mount.parent not in ids), None)
    if current is None:
        above = [mount for mount in mounts if path.is_relative_to(mount.point)]
        longest = max((len(mount.point.parts) for mount in above), default=0)
        return next((mount for mount in reversed(above) if len(mount.point.parts) == longest), None)
    on: dict[tuple[str, Path], Mount] = {(mount.parent, mount.point): mount for mount in mounts}
    been = {current.id}
    for prefix in (*reversed(path.parents), path):
        while (upper := on.get((current.id, prefix))) is not None and upper.id not in been:
            current = upper
            been.add(current.id)
    return current


def without_links(path: Path, base: Path) -> Path:
    """Follow the links of an absolute path like a process whose root directory is `base`.

    `os.path.realpath` does not work here: an absolute link in a container points into the container. Parts that do not
    exist stay as they are.
    """
    todo = [part for part in reversed(path.parts) if part != "/"]
    done: list[str] = []
    links = 0
    while todo:
        part = todo.pop()
        if part in ("..", "."):
            del done[len(done) - (part == "..") :]
            continue
        try:
            target = os.readlink(base.joinpath(*done, part)) if links < _MOST_LINKS else None
        except (OSError, ValueError):
            target = None
        if target is None:
            done.append(part)
            continue
        links += 1
        if target.startswith("/"):
            done = []
        todo += [piece for piece in reversed(target.split("/")) if piece]
    return Path("/", *done)


def _unescape(text: str) -> str:
    r"""Undo mountinfo's octal escapes, such as `\040` for a space."""
    if "\\" not in text:
        return text
    return re.sub(r"\\([0-3][0-7]{2})", lambda match: chr(int(match[1], 8)), text)

"""How many tasks (processes and their threads) a process's cgroups allow, and how many there are: pids.max."""

from pathlib import Path

from adocd.probes.cgroup import groups_of
from adocd.probes.files import natural, text_or


def cgroup_tasks(pid: int, root: Path = Path("/")) -> tuple[int, int] | None:
    """Return the tasks in use and the limit of the cgroup that leaves the process the fewest; None without a limit.

    `root` is the root of the file system. `pid` is in this process's PID namespace. systemd's TasksMax= and a
    container's limit of pids are such a limit; RLIMIT_NPROC is not.
    """
    found = [
        (used, limit)
        # A parent's limit applies too.
        for group in groups_of(pid, "pids", root)
        for directory in group.directories
        if (limit := natural(text_or(directory / "pids.max"))) is not None
        and (used := natural(text_or(directory / "pids.current"))) is not None
    ]
    return min(found, key=lambda each: each[1] - each[0], default=None)

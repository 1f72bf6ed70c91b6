"""How many CPUs a process may use."""

from pathlib import Path
from typing import Final

from adocd.model.missing import Missing
from adocd.probes.files import natural, read_text, text_or

#: Linux has at most 8192 (NR_CPUS); a larger number is nonsense and would make a large set.
_MOST: Final = 1 << 16


def cpus_of(pid: int | None, root: Path = Path("/")) -> int | Missing:
    """Count the online CPUs that the process may run on; all online ones if `pid` is None or the process is gone.

    The allowed CPUs are its first thread's Cpus_allowed_list (proc(5)), which taskset and a cgroup's cpuset narrow, and
    which can name CPUs that do not exist. os.cpu_count considers neither, and has no `root`, the root of a file system
    with `proc` and `sys`. Never raises.
    """
    path = root / "sys/devices/system/cpu/online"
    text = read_text(path)
    online = None if isinstance(text, Missing) else _cpus(text.strip())
    if not online:
        why = text.why if isinstance(text, Missing) else f"{path} has no list of CPUs"
        return Missing(f"how many CPUs there are cannot be read ({why})")
    allowed = None if pid is None else _allowed(root / f"proc/{pid}/status")
    # If none of the allowed CPUs is online any more, the kernel allows all.
    return len(online & allowed if allowed and online & allowed else online)


def _allowed(status: Path) -> set[int] | None:
    for line in text_or(status).split("\n"):
        name, _, value = line.partition(":")
        if name == "Cpus_allowed_list":
            return _cpus(value.strip())
    return None


def _cpus(text: str) -> set[int] | None:
    """Read a list such as `0-3,8`; None for anything else."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low, high = natural(first), natural(last if dash else first)
        if low is None or high is None or high >= _MOST:
            return None
        found.update(range(low, high + 1))
    return found

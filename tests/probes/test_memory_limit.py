"""The machine's memory, or what a cgroup leaves of it, from trees of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.probes.memory_limit import (
    cgroup_available_bytes,
    cgroup_limit_bytes,
    container_limit_bytes,
    machine_available_bytes,
    machine_bytes,
    memory_limit_bytes,
)

MIB = 1 << 20


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


MACHINE = {"proc/meminfo": "MemTotal:        4096 kB\nMemFree:  1 kB\n"}
V2 = {
    "proc/7/cgroup": "0::/system.slice/db.service\n",
    "sys/fs/cgroup/system.slice/db.service/cgroup.procs": "7\n",
}
V1 = {
    "proc/7/cgroup": "12:cpu:/db\n5:memory:/docker/db\n0::/docker/db\n",
    "sys/fs/cgroup/memory/docker/db/cgroup.procs": "7\n",
}
#: The process is in another container than the reader, who sees only his own part of the hierarchy.
HIDDEN = {
    "proc/7/cgroup": "5:memory:/docker/db\n",
    "proc/self/mountinfo": "26 24 0:24 /docker/own /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n",
}


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, None),
        (MACHINE, 4 * MIB),
        (MACHINE | V2, 4 * MIB),
        (MACHINE | V2 | {"sys/fs/cgroup/system.slice/db.service/memory.max": "max\n"}, 4 * MIB),
        (MACHINE | V2 | {"sys/fs/cgroup/system.slice/db.service/memory.max": "1048576\n"}, MIB),
        (MACHINE | V2 | {"sys/fs/cgroup/system.slice/memory.max": "2097152\n"}, 2 * MIB),
        (MACHINE | V1 | {"sys/fs/cgroup/memory/docker/db/memory.limit_in_bytes": "1048576\n"}, MIB),
        (MACHINE | V1 | {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 4 * MIB),
        (MACHINE | {"proc/7/cgroup": "0::/../../etc\nnonsense\n", "sys/etc/memory.max": "1"}, 4 * MIB),
        (MACHINE | HIDDEN, 4 * MIB),
        ({"proc/meminfo": "MemTotal:\nMemTotal: much kB\n"} | V2, None),
    ],
)
def test_the_least_binds(tmp_path: Path, files: dict[str, str], limit: int | None) -> None:
    root = tree(tmp_path, files)
    assert memory_limit_bytes(7, root) == limit
    assert cgroup_limit_bytes(7, root) == (None if limit in (None, 4 * MIB) else limit)


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        (MACHINE | V2 | {"sys/fs/cgroup/system.slice/db.service/memory.max": "1048576\n"}, None),
        (MACHINE | V2 | {"sys/fs/cgroup/system.slice/memory.max": "1048576\n"}, None),
        (MACHINE | V2 | {"sys/fs/cgroup/memory.max": "1048576\n"}, MIB),
        (MACHINE | V1 | {"sys/fs/cgroup/memory/docker/db/memory.limit_in_bytes": "1048576\n"}, None),
        (MACHINE | V1 | {"sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n"}, MIB),
        (MACHINE | V1 | {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, None),
    ],
)
def test_a_containers_limit_is_at_the_top_of_what_can_be_seen(
    tmp_path: Path, files: dict[str, str], limit: int | None
) -> None:
    """A machine has none there, and the limit of one service says nothing about the others."""
    assert container_limit_bytes(7, tree(tmp_path, files)) == limit


def test_this_machine_has_one() -> None:
    limit = memory_limit_bytes(1)
    assert limit is None or limit > MIB


FREE = {"proc/meminfo": "MemTotal:        4096 kB\nMemAvailable:  3072 kB\n"}
GROUP = "sys/fs/cgroup/system.slice/db.service/"
GROUP_V1 = "sys/fs/cgroup/memory/docker/db/"


@pytest.mark.parametrize(
    ("files", "available"),
    [
        ({}, None),
        (FREE, None),
        (FREE | V2 | {f"{GROUP}memory.max": "2097152", f"{GROUP}memory.current": "1048576"}, MIB),
        (
            FREE
            | V2
            | {
                f"{GROUP}memory.max": "2097152",
                f"{GROUP}memory.current": "2097152",
                f"{GROUP}memory.stat": "anon 1\ninactive_file 524288\n",
            },
            MIB // 2,
        ),
        (FREE | V2 | {f"{GROUP}memory.max": "max", f"{GROUP}memory.current": "1048576"}, None),
        (FREE | V2 | {f"{GROUP}memory.max": "1048576", f"{GROUP}memory.current": "4194304"}, 0),
        (
            FREE
            | V1
            | {
                f"{GROUP_V1}memory.limit_in_bytes": "2097152",
                f"{GROUP_V1}memory.usage_in_bytes": "2097152",
                f"{GROUP_V1}memory.stat": "inactive_file 4096\ntotal_inactive_file 524288\n",
            },
            MIB // 2,
        ),
        (
            FREE
            | V1
            | {
                f"{GROUP_V1}memory.limit_in_bytes": "9223372036854771712",  # no limit
                f"{GROUP_V1}memory.usage_in_bytes": "1048576",
            },
            9223372036854771712 - MIB,  # no group says so, and the machine's memory is looked at beside it
        ),
    ],
)
def test_what_is_free_in_the_groups_is_the_least_of_them(
    tmp_path: Path, files: dict[str, str], available: int | None
) -> None:
    """File cache that the group could drop is not taken."""
    assert cgroup_available_bytes(7, tree(tmp_path, files)) == available


def test_what_the_machine_has_is_told_apart_from_its_groups(tmp_path: Path) -> None:
    root = tree(tmp_path, FREE | V2 | {f"{GROUP}memory.max": "1048576", f"{GROUP}memory.current": "1048576"})
    assert (machine_available_bytes(root), machine_bytes(root)) == (3 * MIB, 4 * MIB)
    assert (machine_available_bytes(tmp_path / "none"), machine_bytes(tmp_path / "none")) == (None, None)

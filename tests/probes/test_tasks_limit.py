"""How many threads a process's cgroups allow, from trees of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.probes.tasks_limit import cgroup_tasks
from tests.probes.test_memory_limit import tree

V1 = {"proc/7/cgroup": "9:pids:/docker/db\n0::/elsewhere\n"}
V2 = {"proc/7/cgroup": "0::/system.slice/db.service\n"}
OWN, ABOVE = "sys/fs/cgroup/system.slice/db.service", "sys/fs/cgroup/system.slice"


def group(path: str, limit: str, used: str = "40") -> dict[str, str]:
    return {f"{path}/pids.max": f"{limit}\n", f"{path}/pids.current": f"{used}\n"}


@pytest.mark.parametrize(
    ("files", "tasks"),
    [
        ({}, None),
        (V2, None),
        (V2 | group(OWN, "max"), None),
        (V2 | group(OWN, "100"), (40, 100)),
        (V2 | group(OWN, "100") | group(ABOVE, "200", "190"), (190, 200)),
        (V2 | group(OWN, "100") | group(ABOVE, "max", "190"), (40, 100)),
        (V2 | {f"{OWN}/pids.max": "100\n"}, None),
        (V1 | group("sys/fs/cgroup/pids/docker/db", "64"), (40, 64)),
    ],
)
def test_the_group_that_leaves_the_fewest_binds(
    tmp_path: Path, files: dict[str, str], tasks: tuple[int, int] | None
) -> None:
    assert cgroup_tasks(7, tree(tmp_path, files)) == tasks

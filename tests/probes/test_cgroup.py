"""Which cgroups a process is in, and what is said of those that cannot be seen from here."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.model.process import GroupLimits
from adocd.probes.cgroup import are_seen, groups_of
from adocd.probes.pressure import places_of, read_limits
from adocd.probes.surroundings import SurroundingsProbe
from tests.probes.kernel_tree import lay_out
from tests.probes.test_surroundings import with_process

V2 = "proc/7/cgroup", "0::/system.slice/db.service\n"
V1 = "proc/7/cgroup", "4:cpuacct,cpu:/docker/db\n3:memory:/docker/db\n0::/docker/db\n"
ALL_HIDDEN = ("process 7 is in cgroups that cannot be seen from here, so their limits are unknown",)


def test_a_group_whose_directory_is_not_there_is_left_out(tmp_path: Path) -> None:
    """Those above it that are there would be taken for its own, such as the reader's own container."""
    root = lay_out([V2, ("sys/fs/cgroup/memory.max", "1000000"), ("sys/fs/cgroup/cpu.max", "50000 100000")], tmp_path)
    assert groups_of(7, "memory", root) == ()
    assert are_seen(7, ("cpu", "memory"), root) == {"cpu": False, "memory": False}
    assert read_limits(7, root) == GroupLimits(None, None, None, {}, ALL_HIDDEN)
    assert places_of(7, root).own is None
    (root / "sys/fs/cgroup/system.slice/db.service").mkdir(parents=True)
    assert read_limits(7, root) == GroupLimits(0.5, 1_000_000, None, {}, ())
    assert are_seen(7, ("cpu",), root) == {"cpu": True}
    assert are_seen(8, ("cpu",), root) == {"cpu": None}


@pytest.mark.parametrize(
    ("there", "what"),
    [(("cpuacct,cpu", "memory"), None), (("cpuacct,cpu",), "memory"), (("memory",), "CPU"), ((), "all")],
)
def test_of_what_is_hidden_the_limit_is_unknown_and_the_others_are_known(
    tmp_path: Path, there: tuple[str, ...], what: str | None
) -> None:
    """In cgroup v1 each controller can have a hierarchy of its own; v2 has none of those that v1 has."""
    parts = [V1, *((f"sys/fs/cgroup/{names}/docker/db/cgroup.procs", "7") for names in there)]
    if "memory" in there:
        parts.append(("sys/fs/cgroup/memory/docker/db/memory.limit_in_bytes", "1000000"))
    parts += [("proc/meminfo", "MemTotal: 4096 kB\n"), ("proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n")]
    with_process(lay_out(parts, tmp_path), 7)
    found = read_limits(7, tmp_path)
    if what == "all":
        assert found.missing == ALL_HIDDEN
        return
    hidden = ["I/O"] if what is None else [what, "I/O"]
    assert found.missing == (f"process 7 is in a cgroup for {' and '.join(hidden)} that cannot be seen from here",)
    assert found.memory_bytes == (1_000_000 if "memory" in there else None)
    probe = SurroundingsProbe(7, Path("/db"), None, tmp_path, cpus=2)
    probe.read(1.0)
    around = probe.read(2.0)
    assert around is not None
    assert (around.group is not None) == ("memory" in there)

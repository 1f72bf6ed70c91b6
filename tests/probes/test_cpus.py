"""How many CPUs a process may use, by lists as the kernel writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adocd.model.missing import Missing
from adocd.probes.cpus import cpus_of
from adocd.probes.surroundings import SurroundingsProbe
from tests.probes.kernel_tree import lay_out, tree


@pytest.mark.parametrize(
    ("online", "allowed", "cpus"),
    [("0-7\n", "0-63", 8), ("0-3,8\n", "2-3,8-9", 3), ("0\n", "0", 1), ("0-1", "4", 2), ("0-1", "none", 2)],
)
def test_cpus_are_those_online_that_the_process_may_use(tmp_path: Path, online: str, allowed: str, cpus: int) -> None:
    status = f"Name:\tdb\nCpus_allowed_list:\t{allowed}\n"
    lay_out([("sys/devices/system/cpu/online", online), ("proc/9/status", status)], tmp_path)
    assert cpus_of(9, tmp_path) == cpus


@pytest.mark.parametrize("online", [None, "", "all", "0-99999999999", "3-"])
def test_cpus_that_cannot_be_counted_are_a_gap(tmp_path: Path, online: str | None) -> None:
    tree("bare-disk", tmp_path)
    if online is not None:
        lay_out([("sys/devices/system/cpu/online", online)], tmp_path)
    assert isinstance(cpus_of(None, tmp_path), Missing)
    probe = SurroundingsProbe(None, Path("/"), None, tmp_path)
    probe.read(1.0)
    found = probe.read(2.0)
    assert found is not None
    assert found.cpus is None
    assert found.missing[-1].startswith("how many CPUs there are cannot be read (")


def test_this_process_may_use_what_the_scheduler_says() -> None:
    assert cpus_of(os.getpid()) == len(os.sched_getaffinity(0))

"""The committed kernel trees, and a cgroup file system that behaves as the kernel's does."""

import os
import shutil
from pathlib import Path

from adocd_bench.errors import CapUnavailable
from adocd_bench.host.cap import CgroupTree
from adocd_bench.host.device import REAL_ROOTS, Roots, block_device_of

TREES = Path(__file__).parent / "trees"


def tree(name: str) -> Roots:
    """Name the roots of a committed tree; its /proc and /sys are read only."""
    return Roots(TREES / name / "proc", TREES / name / "sys", TREES / name / "cgroup")


def writable_tree(name: str, room: Path) -> Roots:
    """Copy a tree's cgroup hierarchy to where groups can be made."""
    shutil.copytree(TREES / name / "cgroup", room / "cgroup")
    return Roots(TREES / name / "proc", TREES / name / "sys", room / "cgroup")


def capping(directory: Path, name: str) -> str:
    """Name this cap where one can be had, `uncapped` elsewhere."""
    try:
        CgroupTree(REAL_ROOTS)
        block_device_of(directory)
    except CapUnavailable:
        return "uncapped"
    return name if os.geteuid() == 0 else "uncapped"


class FakeCgroupTree(CgroupTree):
    """Plain directories instead of cgroups: files appear with a group and go with it, as in the kernel."""

    def make(self, group: Path) -> None:
        """Create the group with its control files."""
        super().make(group)
        names = ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"]
        for name in ["cgroup.procs", *(names if self.version == 1 else ["io.max"])]:
            (group / name).touch()

    def remove(self, group: Path) -> None:
        """Remove the group; the kernel does not mind its control files."""
        shutil.rmtree(group, ignore_errors=True)

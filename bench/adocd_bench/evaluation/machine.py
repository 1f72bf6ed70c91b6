"""The facts about a machine that a reader needs to judge figures measured on it."""

import os
import platform
from pathlib import Path

from adocd import __version__
from adocd.probes.files import text_or
from adocd_bench.errors import CapUnavailable
from adocd_bench.evaluation.code_hash import code_in_use
from adocd_bench.evaluation.raw import Machine
from adocd_bench.host.cap import CgroupTree
from adocd_bench.host.device import REAL_ROOTS, Roots, block_device_of

_KIB = 1024


def machine(directory: Path, roots: Roots = REAL_ROOTS) -> Machine:
    """Read this machine's facts, for databases in `directory`.

    What is measured later, and the versions of RocksDB and the program, stay empty.
    """
    return Machine(
        cpus=os.cpu_count() or 1,
        cpu_model=_member(roots.proc / "cpuinfo", "model name") or platform.machine(),
        memory_bytes=int(_member(roots.proc / "meminfo", "MemTotal").removesuffix("kB") or 0) * _KIB,
        kernel=platform.release(),
        distribution=_distribution(),
        device=_device(directory, roots),
        device_write_bytes_per_s=None,
        device_read_bytes_per_s=None,
        cgroup_version=_cgroup_version(roots),
        adocd_version=__version__,
        rocksdb_version="",
        program_version="",
        code=code_in_use(),
    )


def _member(file: Path, name: str) -> str:
    pairs = (line.partition(":") for line in text_or(file).splitlines())
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "")


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _device(directory: Path, roots: Roots) -> str | None:
    try:
        return block_device_of(directory, roots).name
    except CapUnavailable:
        return None


def _cgroup_version(roots: Roots) -> int | None:
    try:
        return CgroupTree(roots).version
    except CapUnavailable:
        return None

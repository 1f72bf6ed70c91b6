"""Which two runs of a repetition are a pair: they met the same machine, and the same programs and code.

A block may have runs of several machines, for instance where a repetition was made again. Whatever differs between two
machines, or between two versions of adocd, would be taken for a difference between schemes.
"""

from adocd_bench.evaluation.raw import RawRun

#: Runs of a pair that began further apart count, and are told: the machine may have changed meanwhile.
FAR_S = 3600.0
#: Devices of their own are of the same size within this: it may follow from the load, in whole sectors.
_SAME_SIZE = 0.01
Machine = tuple[str, int, str]

#: The rule, as the report says it.
RULE = (
    "Two runs of a repetition are a pair if they have the same processors and kernel, the same versions of the program "
    "and of RocksDB, and, where both recorded it, the same db_bench (by a hash of its file), the same code (a hash of "
    "the sources of adocd and the bench, and of the agent) and devices of their own of the same size within "
    f"{100 * _SAME_SIZE:g} %. Others count in no ratio and no "
    "verdict, and the block says how many and why. Pairs whose runs began more than an hour apart count, and the block "
    "says how many."
)


def machine_of(run: RawRun) -> Machine:
    """Identify the machine of a run by its processors and kernel."""
    return run.machine.cpu_model, run.machine.cpus, run.machine.kernel


def unlike(one: RawRun, other: RawRun) -> str | None:
    """Say why two runs are no pair; None where they are one."""
    (model, cpus, kernel), (other_model, other_cpus, other_kernel) = machine_of(one), machine_of(other)
    if (model, cpus) != (other_model, other_cpus):
        return "different processors"
    if kernel != other_kernel:
        return "different kernels"
    if _programs(one) != _programs(other) or _known_to_differ(one.machine.program_hash, other.machine.program_hash):
        return "different programs"
    if _known_to_differ(one.machine.code, other.machine.code):
        return "different code"
    sizes = [size for run in (one, other) if (size := own_device_size(run)) is not None]
    # A law may take a share of the free space, and a plan that is continued with other loads has larger devices.
    return "devices of different size" if sizes and max(sizes) > (1 + _SAME_SIZE) * min(sizes) else None


def own_device_size(run: RawRun) -> int | None:
    """Give the size of a run's own device in bytes; None without one, or where it was not recorded."""
    return run.device.size_bytes if run.device is not None and run.device.dedicated else None


def _programs(run: RawRun) -> tuple[str, str]:
    return run.machine.program_version, run.machine.rocksdb_version


def _known_to_differ(one: str | None, other: str | None) -> bool:
    return len({one, other} - {None}) > 1

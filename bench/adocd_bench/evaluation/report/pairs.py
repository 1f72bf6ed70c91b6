"""Which two runs of a repetition are a pair: they met the same machine, and the same programs and code.

A block may have runs of several machines, for instance where a repetition was made again. Whatever differs between two
machines, or between two versions of adocd, would be taken for a difference between schemes.
"""

from adocd_bench.evaluation.raw import RawRun

#: Runs of a pair that began further apart count, and are told: the machine may have changed meanwhile.
FAR_S = 3600.0
Machine = tuple[str, int, str]

#: The rule, as the report says it.
RULE = (
    "Two runs of a repetition are a pair if they have the same processors and kernel, the same versions of the program "
    "and of RocksDB, and the same db_bench (by a hash of its file) and code (a hash of the sources of adocd and the "
    "bench, and of the agent) where both recorded it. Others count in no ratio and no "
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
    return "different code" if _known_to_differ(one.machine.code, other.machine.code) else None


def _programs(run: RawRun) -> tuple[str, str]:
    return run.machine.program_version, run.machine.rocksdb_version


def _known_to_differ(one: str | None, other: str | None) -> bool:
    return len({one, other} - {None}) > 1

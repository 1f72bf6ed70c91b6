"""Keep a change from starting more threads than the database's process may have. Pure, but for reading its tasks."""

from adocd.daemon.change.guards.guard import Beside, GuardRefusal
from adocd.model.sample import Sample
from adocd.model.threads import COMPACTION_POOL, jobs_allowed, pool_sizes
from adocd.model.values import OptionName, Values, of_database

#: No thread is added when less than 1/20 of the tasks that the cgroup allows would be left.
SPARE_SHARE = 20
_JOBS, _SUBCOMPACTIONS = of_database("max_background_jobs"), of_database("max_subcompactions")
#: RocksDB starts threads for these at once, in the pools (db_impl.cc, SetDBOptions).
_POOLED = frozenset({_JOBS, *map(of_database, ("max_background_flushes", "max_background_compactions"))})


def thread_shortage(wanted: Values, sample: Sample, beside: Beside) -> tuple[GuardRefusal, ...]:
    """Refuse more threads while the cgroup of the target's process has few tasks left.

    Where RocksDB cannot start a thread, std::thread throws in one of its own threads, and that ends the program.
    """
    growths = _growths(wanted, sample)
    tasks = beside.read_tasks() if growths else None
    if tasks is None:
        return ()
    more, left = sum(growths.values()), max(0, tasks.limit - tasks.used)
    if left - more >= tasks.limit // SPARE_SHARE:
        return ()
    words = " and ".join(sorted(f"{option} {wanted[option]}" for option in growths))
    reason = f"{words} can start {more} more threads, and of the {tasks.limit} that its cgroup allows {left} are left"
    return (GuardRefusal("thread shortage", frozenset(growths), reason),)


def _growths(wanted: Values, sample: Sample) -> dict[OptionName, int]:
    """Return how many threads each wanted value can add, where it adds any."""
    current, growths = sample.values, dict[OptionName, int]()
    for option, value in wanted.items():
        if option.scope == "thread_pool" or option in _POOLED or option == _SUBCOMPACTIONS:
            # -1: RocksDB derives it from max_background_jobs.
            growths[option] = int(value) - max(0, int(current.get(option, 0)))
    if _SUBCOMPACTIONS in growths:
        # Each compaction starts its own (compaction_job.cc, CompactionJob::Run).
        jobs = int(wanted.get(_JOBS, jobs_allowed(sample.options) or 1))
        growths[_SUBCOMPACTIONS] *= pool_sizes(jobs)[COMPACTION_POOL]
    return {option: threads for option, threads in growths.items() if threads > 0}

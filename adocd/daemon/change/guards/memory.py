"""Keep memtables within the memory of the process and the machine. Pure, but for reading the free memory."""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from adocd.daemon.change.guards.guard import Beside, GuardRefusal, MemoryInUse
from adocd.model.knob import MIB
from adocd.model.memtables import MEMORY_SHARE, is_written
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import OptionName, Values, of_family

#: Memtables do not grow when less than 1/20 of the total memory would be left.
SPARE_SHARE = 20
_OPTIONS = ("write_buffer_size", "max_write_buffer_number")
#: A column family counts as written for so long after it was last seen so, in seconds: after a flush its memtables are
#: empty, and others would be granted what it takes again a moment later.
_LATELY_S = 60.0


class LatelyWritten:
    """Remembers which column families of one database are written to, in the samples' own time."""

    def __init__(self) -> None:
        self._seen_s: dict[str, float] = {}

    @property
    def families(self) -> Set[str]:
        """Those that have been written to in the last minute."""
        return self._seen_s.keys()

    def observe(self, sample: Sample) -> None:
        """Take in a sample."""
        now_s = sample.monotonic_s
        seen = dict.fromkeys((cf.name for cf in sample.column_families if is_written(cf)), now_s)
        self._seen_s = {name: at_s for name, at_s in (self._seen_s | seen).items() if now_s - at_s < _LATELY_S}


def memory_budget(wanted: Values, sample: Sample, beside: Beside) -> tuple[GuardRefusal, ...]:
    """Keep all memtables' worst case within the budget, and those of a process within a quarter of its memory.

    Only growth is refused: a database already above the budget may stay there or shrink.
    """
    growths = _growths(wanted, sample)
    if not growths:
        return ()
    own = worst_case_bytes(sample, originals=beside.originals, written=beside.written)
    total, of_process = beside.memtables_bytes + own, beside.process_memtables_bytes + own
    budget, limit = beside.budget_bytes, beside.process_limit_bytes
    refusals = []
    for growth in growths:
        if budget is not None and total + growth.bytes > budget:
            reason = (
                f"{growth} would take the memtables to {(total + growth.bytes) // MIB} MiB, "
                f"the budget is {budget // MIB} MiB"
            )
            refusals.append(GuardRefusal("memory budget", growth.options, reason, about=growth.about))
        elif limit is not None and of_process + growth.bytes > limit // MEMORY_SHARE:
            whose = "this database's memtables" if of_process == own else "the memtables of this process's databases"
            reason = (
                f"{growth} would take {whose} to {(of_process + growth.bytes) // MIB} MiB, and its process can have "
                f"{limit // MIB} MiB, of which they may take a quarter"
            )
            refusals.append(GuardRefusal("memory budget", growth.options, reason, about=growth.about))
        else:
            total += growth.bytes
            of_process += growth.bytes
    return tuple(refusals)


def memory_shortage(wanted: Values, sample: Sample, beside: Beside) -> tuple[GuardRefusal, ...]:
    """Refuse growth of memtables while the machine, or the cgroup of the target's process, is short of memory."""
    growths = _growths(wanted, sample)
    if not growths:
        return ()
    memories, granted, refusals = beside.read_memory(), 0, []
    for growth in growths:
        short = next((told for now in memories if (told := _short_of(now, granted + growth.bytes, granted))), None)
        if short is None:
            granted += growth.bytes
        else:
            reason = f"{growth} can take {growth.bytes // MIB} MiB more, and {short}"
            refusals.append(GuardRefusal("memory shortage", growth.options, reason, about=growth.about))
    return tuple(refusals)


def _short_of(now: MemoryInUse, taken_bytes: int, granted_bytes: int) -> str | None:
    """Say how little is free if taking so much would leave too little; None if not, or if nobody knows."""
    if now.available_bytes is None or now.total_bytes is None:
        return None
    left = now.available_bytes - now.promised_bytes
    if left - taken_bytes >= now.total_bytes // SPARE_SHARE:
        return None
    less = (
        f", without {now.promised_bytes // MIB} MiB that were granted and are not used yet"
        if now.promised_bytes
        else ""
    )
    return f"of {now.total_bytes // MIB} MiB only {max(0, left - granted_bytes) // MIB} MiB are free{less}"


@dataclass(frozen=True, slots=True)
class _Growth:
    column_family: str
    size_bytes: int
    number: int
    bytes: int
    options: frozenset[OptionName]
    about: frozenset[OptionName]

    def __str__(self) -> str:
        return f"{self.size_bytes // MIB} MiB x {self.number} for {self.column_family}"


def _growths(wanted: Values, sample: Sample) -> list[_Growth]:
    """List the column families whose worst case would grow, and by how much."""
    growths: list[_Growth] = []
    if not wanted:
        return growths
    for cf in sample.column_families:
        names = [of_family(cf.name, option) for option in _OPTIONS]
        now = (cf.options.write_buffer_size_bytes, cf.options.max_write_buffer_number)
        size, number = (int(wanted.get(name, value)) for name, value in zip(names, now, strict=True))
        growth = size * number - now[0] * now[1]
        if growth > 0:
            options = frozenset(name for name in names if name in wanted)
            growths.append(_Growth(cf.name, size, number, growth, options, frozenset(names)))
    return growths


def worst_case_bytes(
    sample: Sample,
    wanted: Mapping[OptionName, str] | None = None,
    originals: Values | None = None,
    written: Set[str] = frozenset(),
) -> int:
    """Sum write_buffer_size x max_write_buffer_number over the column families, in bytes.

    RocksDB takes the same product as the worst case of a column family's memtables (options.h, db_write_buffer_size).
    One that is idle, and not among those lately `written`, counts only with what we have added to its `originals`:
    hundreds of them would otherwise block all growth, and without what we have added they would grow past any budget, a
    few in each cycle. A larger value in
    `wanted` counts instead of the present one, because that growth is in flight.
    """
    growths = {growth.column_family: growth.bytes for growth in _growths(wanted or {}, sample)}
    total = 0
    for cf in sample.column_families:
        most = _now_bytes(cf) + growths.get(cf.name, 0)
        counts = is_written(cf) or cf.name in written
        total += most if counts else max(0, most - _original_bytes(cf, originals or {}))
    return total


def promised_bytes(sample: Sample, wanted: Mapping[OptionName, str], originals: Values) -> int:
    """Sum what we have added to the worst case of the memtables and they do not take yet, in bytes.

    What the owner has allowed them counts as the owner's affair, taken or not. Growth in `wanted` is in flight.
    """
    growths = {growth.column_family: growth.bytes for growth in _growths(wanted, sample)}
    promised = 0
    for cf in sample.column_families:
        most = _now_bytes(cf) + growths.get(cf.name, 0)
        promised += max(0, most - max(_original_bytes(cf, originals), cf.memtables_bytes))
    return promised


def _now_bytes(cf: ColumnFamilySample) -> int:
    return cf.options.write_buffer_size_bytes * cf.options.max_write_buffer_number


def _original_bytes(cf: ColumnFamilySample, originals: Values) -> int:
    size, number = (originals.get(of_family(cf.name, option)) for option in _OPTIONS)
    options = cf.options
    return int(size or options.write_buffer_size_bytes) * int(number or options.max_write_buffer_number)

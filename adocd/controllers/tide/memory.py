"""The memory budget of memtables, and how column families in a flood divide it. Pure."""

from collections.abc import Collection

from adocd.controllers.tide.parameters import TideParameters
from adocd.model.knob import MIB, Knob
from adocd.model.memtables import is_written
from adocd.model.options import OPTIONS
from adocd.model.reading import owners_value
from adocd.model.sample import ColumnFamilySample, Sample

#: Memtables grow in steps of at least this factor.
_STEP = 1.3
_MEMTABLE_MAX = int(OPTIONS["write_buffer_size"].maximum)
_NUMBER_MAX = int(OPTIONS["max_write_buffer_number"].maximum)


def owners_memtables(cf: ColumnFamilySample, sample: Sample) -> tuple[int, int]:
    """Return the size in bytes and the number of memtables that the owner allows."""
    return (
        owners_value(Knob.MEMTABLE_SIZE, sample, cf.name) or MIB,
        owners_value(Knob.MEMTABLE_NUMBER, sample, cf.name) or 2,
    )


def spare_bytes(
    sample: Sample, pressed: Collection[str], parameters: TideParameters, written: Collection[str] = ()
) -> int:
    """Return what each column family in a flood may take beyond the owner's, of what is left of the budget.

    Of the others only those that are written count, now or before in this flood (`written`), and of an idle one what
    was added to it: hundreds of idle ones would leave nothing, and take next to no memory.
    """
    most = parameters.memory_max_bytes
    if sample.allowance is not None:
        most = min(most, sample.allowance.memtables_bytes)
    for cf in sample.column_families:
        size, number = owners_memtables(cf, sample)
        now = cf.options.write_buffer_size_bytes * cf.options.max_write_buffer_number
        counts = is_written(cf) or cf.name in written
        most -= size * number if cf.name in pressed else now if counts else max(0, now - size * number)
    return max(0, most) // max(1, len(pressed))


def flood_memtables(
    cf: ColumnFamilySample, sample: Sample, spare: int, parameters: TideParameters, *, largest: int | None = None
) -> tuple[int, int]:
    """Return the size in bytes and the number of memtables in a flood, never less than the owner's.

    Where `largest` bytes are less than the budget allows each, there are more memtables instead.
    """
    owners = owners_memtables(cf, sample)
    budget, number = owners[0] * owners[1] + spare, max(owners[1], parameters.memtables)
    size, now = min(_MEMTABLE_MAX, budget // number // MIB * MIB), cf.options.write_buffer_size_bytes
    if largest is not None and largest < size:
        size, was = max(owners[0], largest), cf.options.max_write_buffer_number
        number = max(number, min(_NUMBER_MAX, budget // size))
        is_near = now == size and owners[1] < was <= number <= _STEP * was
        return size, was if is_near else number
    if size >= owners[0]:
        # A budget that moves a little, as an arbiter's does, is no reason for a call of SetOptions each second.
        is_near = owners[0] < now <= size <= _STEP * now and cf.options.max_write_buffer_number == number
        return now if is_near else size, number
    return owners[0], max(owners[1], budget // owners[0])

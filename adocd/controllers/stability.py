"""Performance stability: process writes as quickly as possible, and only stop (performance-stability-vldb19).

Theorem 1 (5.1.2): processing writes as quickly as possible minimises the latency of each. A graceful slowdown lengthens
the queue of waiting writes, so this law has none, only a stop at a bound. RocksDB is a partitioned tree, so section 6
applies, with LevelDB's figures (6.1: a trigger of 4, a stop at 12):

| option                                   | held at                                                 |
|------------------------------------------|---------------------------------------------------------|
| level0_slowdown and level0_stop          | both 3 x level0_file_num_compaction_trigger             |
| soft_pending_compaction_bytes_limit      | the hard limit, which is the owner's                    |
| max_write_buffer_number                  | at most 3: with more RocksDB delays writes by number;   |
|                                          | but more than min_write_buffer_number_to_merge          |
| bytes_per_sync                           | 16 MiB: no long queue of dirty pages behind one fsync   |
| target_file_size_base                    | at most 64 MiB (6.1, figure 18: small files, short merges) |

Units are files, bytes and memtables. The law is static. It governs column families with level compaction. Section
5.1.1's global constraint, twice the expected number of components, is for full merges: one with universal compaction is
governed too where `components` is set to 2 x T x L, for a size ratio of T and L levels, as RocksDB's stop trigger
counts sorted runs there. FIFO compaction keeps all its files in level 0 and has no stop, so it is left alone.

Assumes an open system in which the time until a write is done matters, queueing included. Does harm where clients
suffer more from a short stop than from a long delay, as every stop is a full one, and where the load exceeds what
compactions sustain, which no scheduler cures. The maximum measured in a closed loop is not sustainable (6.2: 30 % too
high).

Not reachable from outside: the greedy choice of the smallest merge (5.1.4), merging exactly T0 files from level 0
(6.2), and shares of bandwidth for single merges. RocksDB picks by score, and compacts all L0 files there are.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from pydantic import Field

from adocd.controllers.base import Controller, Parameters
from adocd.controllers.settings import Wishes
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.options import LEVEL_COMPACTION, OUT_OF_THE_WAY, UNIVERSAL_COMPACTION
from adocd.model.reading import owners_value
from adocd.model.sample import ColumnFamilySample, Sample


class StabilityParameters(Parameters):
    """The component constraint and sizes; each default is the paper's, or RocksDB's where its name says so."""

    stop_factor: int = Field(default=3, ge=2, le=64, description="times the L0 trigger")
    components: int | None = Field(
        default=None, ge=2, le=10_000, description="universal: in place of stop_factor, 2 x T x L"
    )
    memtables_max: int = Field(default=3, ge=2, le=64)
    bytes_per_sync: int = Field(default=16 * MIB, ge=MIB)
    file_size_max_bytes: int = Field(default=64 * MIB, ge=MIB, le=4096 * MIB)


class Stability(Controller):
    """No slowdowns, one stop at three times the trigger, small files."""

    name = "stability"
    summary = "performance stability: writes as quickly as possible up to a stop, no graceful slowdown"
    source = "Luo and Carey, VLDB'19, sections 5.1 and 6"
    period_s = 1.0
    knobs = frozenset(
        {
            Knob.LEVEL0_SLOWDOWN,
            Knob.LEVEL0_STOP,
            Knob.SOFT_PENDING_LIMIT,
            Knob.MEMTABLE_NUMBER,
            Knob.BYTES_PER_SYNC,
            Knob.FILE_SIZE,
        }
    )
    optional_knobs = frozenset({Knob.BYTES_PER_SYNC, Knob.FILE_SIZE})
    parameters_model: ClassVar[type[Parameters]] = StabilityParameters

    def __init__(self, parameters: StabilityParameters) -> None:
        self._wishes = Wishes()
        self._parameters = parameters

    def step(self, sample: Sample) -> Decision | None:
        """Set the options that differ from the table's values."""
        governed = [cf for cf in sample.column_families if self._is_governed(cf, sample)]
        self.declined = None if governed else self._why_nothing_is_governed()
        settings = self._wishes.not_there_yet(self._wanted(governed, sample), sample) if governed else ()
        if not settings:
            return None
        return Decision(
            settings,
            signal=f"{len(settings)} options are not as the law holds them",
            rule="stability.hold",
            reason="a delay of writes does not make merges faster, and lengthens the queue",
        )

    def _is_governed(self, cf: ColumnFamilySample, sample: Sample) -> bool:
        style = sample.options.compaction_style(cf.name)
        return style == LEVEL_COMPACTION or (style == UNIVERSAL_COMPACTION and self._parameters.components is not None)

    def _why_nothing_is_governed(self) -> str:
        if self._parameters.components is not None:
            return "no column family has level or universal compaction"
        return (
            "no column family has level compaction; for universal compaction give components, "
            "twice its size ratio times its levels"
        )

    def _wanted(self, governed: Iterable[ColumnFamilySample], sample: Sample) -> Iterator[Setting]:
        p = self._parameters
        yield Setting(Knob.BYTES_PER_SYNC, p.bytes_per_sync)
        for cf in governed:
            trigger = max(1, cf.options.level0_file_num_compaction_trigger)
            is_universal = sample.options.compaction_style(cf.name) == UNIVERSAL_COMPACTION
            components = p.components if is_universal else None
            stop = min(components or p.stop_factor * trigger, OUT_OF_THE_WAY)
            if stop >= trigger:
                yield Setting(Knob.LEVEL0_SLOWDOWN, stop, cf.name)
                yield Setting(Knob.LEVEL0_STOP, stop, cf.name)
            yield Setting(Knob.SOFT_PENDING_LIMIT, cf.options.hard_pending_compaction_bytes_limit, cf.name)
            # With fewer memtables than a flush merges, writes stop for good; RocksDB ensures one more only at open.
            memtables = max(p.memtables_max, cf.options.min_write_buffer_number_to_merge + 1)
            for knob, most in ((Knob.MEMTABLE_NUMBER, memtables), (Knob.FILE_SIZE, p.file_size_max_bytes)):
                owners = owners_value(knob, sample, cf.name)
                if owners is not None:
                    yield Setting(knob, min(owners, most), cf.name)

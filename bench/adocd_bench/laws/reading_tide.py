"""The reading of adocd's own law (adocd_bench.laws.readings), for one column family: its memory and its threads.

The gate of level 0 and the rate are left out.
"""

import math
from collections.abc import Iterator, Sequence

from adocd.model.sample import ColumnFamilySample, Sample
from adocd_bench.laws.wanted import Given, WantedSettings

MIB = 1 << 20
_READS = ("rocksdb.number.keys.read", "rocksdb.number.multiget.keys.read", "rocksdb.number.db.seek")


def tide(windows: Sequence[Sample], _given: Given) -> Iterator[WantedSettings]:
    """Take four memtables of 128 MiB and wide merges in a flood; keep them until all is paid at the ebb.

    Merges are narrow in a flood while nobody has waited for half a minute. An ebb begins after 5 s of quiet, and after
    twice as long where a flood has come after less than a minute of it.
    """
    mean, peak, device, both, quiet_s, met_s = -1.0, 0.0, 0.0, -1.0, 0.0, 0.0
    regime, after_s, ebbed_s = "calm", 5.0, math.inf
    for sample in windows:
        (cf,) = sample.column_families
        t = sample.interval_s
        written = sample.written_bytes_per_s or 0.0
        mean = written if mean < 0 else mean + (written - mean) * (1 - math.exp(-t / 3))
        peak = max(mean, peak * math.exp(-t / 300))
        background = (sample.flush_written_bytes_per_s or 0.0) + (sample.compaction_written_bytes_per_s or 0.0)
        both = background if both < 0 else both + (background - both) * (1 - math.exp(-t / 3))
        device = max(device, both)
        held = cf.immutable_memtables > 1 or any(cf.stall_counts.values())
        pressed = held or cf.l0_files >= 8
        waited = sample.condition != "normal" or sample.stalled_fraction or any(cf.stall_counts.values())
        met_s = 0.0 if waited or regime == "calm" else met_s + t
        quiet_s = 0.0 if held or regime == "calm" or mean > max(peak / 10, device / 8) else quiet_s + t
        is_quiet, ebbed_s = quiet_s >= after_s, ebbed_s + t
        if is_quiet and ebbed_s == math.inf:
            ebbed_s = 0.0
        elif pressed and not is_quiet and ebbed_s < math.inf:
            after_s, ebbed_s = (min(60.0, 2 * after_s) if after_s + ebbed_s < 60 else 5.0), math.inf
        if regime == "calm":
            regime = "flood" if pressed else "calm"
        elif is_quiet or (regime == "ebb" and not pressed):
            regime = "calm" if _is_paid(cf) else "ebb"
        else:
            regime = "flood"
        yield _needed(sample, cf, "met" if regime == "flood" and met_s >= 30 else regime)


def _is_paid(cf: ColumnFamilySample) -> bool:
    base = cf.options.max_bytes_for_level_base_bytes
    return cf.l0_files <= 4 and base == 256 * MIB and cf.pending_compaction_bytes <= base


def _needed(sample: Sample, cf: ColumnFamilySample, regime: str) -> WantedSettings:
    read = (sample.ticker_per_s(ticker) for ticker in _READS)
    reads = sum(rate for rate in read if rate is not None)
    ours = {
        "calm": (2, 1, 64 * MIB, 2),
        "flood": (4 if reads else 12, 4, 128 * MIB, 4),
        "met": (4 if reads else 12, 1, 128 * MIB, 4),
        "ebb": (4, 4, cf.options.write_buffer_size_bytes, cf.options.max_write_buffer_number),
    }
    jobs, width, size, number = ours[regime]
    wanted: WantedSettings = {}
    if jobs != sample.background_jobs:
        wanted["background_jobs", None] = jobs
    if width != int(sample.options.database["max_subcompactions"]):
        wanted["subcompactions", None] = width
    if size != cf.options.write_buffer_size_bytes:
        wanted["memtable_size", cf.name] = size
    if number != cf.options.max_write_buffer_number:
        wanted["memtable_number", cf.name] = number
    return wanted

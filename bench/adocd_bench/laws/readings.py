"""A second, short implementation of each law, straight from its source and without `adocd.controllers`.

A reading takes the windows that the law saw and returns, for each, what to set: by knob, and by column family for
per-family knobs. It lacks what the laws add for unsupervised operation (time bounds, dwell, hysteresis), so differences
from the law show the effect of that.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from adocd.model.policy import ParameterValue
from adocd.model.sample import ColumnFamilySample, Sample
from adocd_bench.laws import readings_systems
from adocd_bench.laws.reading_tide import tide
from adocd_bench.laws.wanted import Given, WantedSettings

MIB, MB = 1 << 20, 1_000_000
Reading = Callable[[Sequence[Sample], Given], Iterator[WantedSettings]]
_READ = ("rocksdb.bytes.read", "rocksdb.number.multiget.bytes.read", "rocksdb.db.iter.bytes.read")
_DRAINS = "rocksdb.number.rate_limiter.drains"


def fixed(windows: Sequence[Sample], _given: Given) -> Iterator[WantedSettings]:
    """Set nothing."""
    for _ in windows:
        yield {}


def manual(windows: Sequence[Sample], given: Given) -> Iterator[WantedSettings]:
    """Hold threads and batch, all that is given here."""
    for sample in windows:
        wanted: WantedSettings = {}
        if sample.background_jobs != given["background_jobs"]:
            wanted["background_jobs", None] = _whole(given["background_jobs"])
        for cf in sample.column_families:
            if cf.options.write_buffer_size_bytes != given["batch_size"]:
                wanted["batch_size", cf.name] = _whole(given["batch_size"])
        yield wanted


def adoc(windows: Sequence[Sample], _given: Given) -> Iterator[WantedSettings]:
    """Take the first overflow of L0O, RDO, MMO, and its row (adoc-fast23, section 5), asked of the window's end."""
    for sample in windows:
        (cf,) = sample.column_families
        jobs, batch = sample.background_jobs or 0, cf.options.write_buffer_size_bytes
        if cf.l0_files >= cf.options.level0_slowdown_writes_trigger:
            yield _moved(sample, cf, min(20, jobs + 2), batch)
        elif _in_debt(cf):
            yield _moved(sample, cf, min(20, jobs + 2), max(64 * MIB, batch // 2))
        elif cf.immutable_memtables >= 2 or _stalls(cf, "memtable"):
            yield _moved(sample, cf, max(2, jobs // 2), min(512 * MIB, batch + 64 * MIB))
        else:
            yield {}


def adoc_released(windows: Sequence[Sample], _given: Given) -> Iterator[WantedSettings]:
    """Compare the mean flush of a window with the best so far (adoc-fast23, the authors' code)."""
    best, seen, initial = 0.0, 0, windows[0].column_families[0].options.write_buffer_size_bytes if windows else 0
    for sample in windows:
        (cf,) = sample.column_families
        ended = [e for e in sample.events if e.kind == "flush_end" and e.bytes is not None and e.elapsed_s]
        rates = [(e.bytes or 0) // max(1, round((e.elapsed_s or 0) * 1e6)) for e in ended]
        mean = sum(rates) / len(rates) if rates else 0.0
        seen += bool(mean)
        if not mean or seen == 1:
            yield {}
            continue
        best = max(best, mean)
        jobs = now = sample.background_jobs or 0
        batch = old = cf.options.write_buffer_size_bytes
        jobs = min(20, now + 2) if cf.immutable_memtables >= 1 else jobs
        if mean < best / 2:
            jobs, batch = max(2, now // 2), min(512 * MIB, old + initial)
        elif cf.immutable_memtables > 1:
            batch = min(512 * MIB, old + initial)
        if _in_debt(cf):
            jobs, batch = min(20, now + 2), max(64 * MIB, old // 2)
        if sum(cf.level_files[1:2]) >= cf.options.level0_slowdown_writes_trigger:
            jobs = min(20, now + 2)
        yield _moved(sample, cf, jobs, batch)


def mimd(windows: Sequence[Sample], given: Given) -> Iterator[WantedSettings]:
    """Tune as GenericRateLimiter::Tune does, begun at half of the maximum (rate_limiter.cc)."""
    most, begun = _whole(given["max_bytes_per_s"]), False
    for sample in windows:
        rate = wanted = sample.options.rate_limiter_bytes_per_s or 0
        drained = 100 * (sample.ticker_increases or {})[_DRAINS] // math.ceil(round(sample.interval_s, 6) * 10)
        if not begun:
            begun, wanted = True, most // 2
        elif drained == 0:
            wanted = most // 20
        elif drained < 50:
            wanted = max(most // 20, rate * 100 // 105)
        elif drained > 90:
            wanted = min(most, rate * 105 // 100)
        yield {} if wanted == rate else {("rate_limit", None): wanted}


def toggle(windows: Sequence[Sample], given: Given) -> Iterator[WantedSettings]:
    """Switch by flush and total percent of the cap (warlo 3.3); the switch alone, without its preparations."""
    cap, is_on = _whole(given["cap_bytes_per_s"]), True
    for sample in windows:
        (cf,) = sample.column_families
        flush = int(100 * (sample.flush_written_bytes_per_s or 0) // cap)
        total = int(
            100 * ((sample.flush_written_bytes_per_s or 0) + (sample.compaction_written_bytes_per_s or 0)) // cap
        )
        if total >= 90 and flush >= 50:
            is_on = False
        elif total <= 90 and flush < 50:
            is_on = True
        now = not cf.options.disable_auto_compactions
        yield {} if is_on == now else {("auto_compaction", cf.name): int(is_on)}


def silk(windows: Sequence[Sample], given: Given) -> Iterator[WantedSettings]:
    """Give internal work max(T - C - e, floor) if that is 10 MB/s off the current value (silk-atc19, 5.2)."""
    device = _whole(given["bandwidth_bytes_per_s"])
    for sample in windows:
        clients = (sample.written_bytes_per_s or 0) + sum((sample.ticker_per_s(ticker) or 0) for ticker in _READ)
        wanted = max(int(device - int(clients) - 10 * MB) // MB * MB, device // 4)
        now = sample.options.rate_limiter_bytes_per_s or 0
        yield {("rate_limit", None): wanted} if abs(wanted - now) >= 10 * MB else {}


def stability(windows: Sequence[Sample], _given: Given) -> Iterator[WantedSettings]:
    """Hold no slowdown, and one stop at three times the trigger (performance-stability-vldb19, section 6)."""
    for sample in windows:
        (cf,) = sample.column_families
        stop = 3 * cf.options.level0_file_num_compaction_trigger
        held = {
            "level0_slowdown_trigger": (cf.options.level0_slowdown_writes_trigger, stop),
            "level0_stop_trigger": (cf.options.level0_stop_writes_trigger, stop),
            "soft_pending_limit": (
                cf.options.soft_pending_compaction_bytes_limit,
                cf.options.hard_pending_compaction_bytes_limit,
            ),
            "memtable_number": (cf.options.max_write_buffer_number, min(3, cf.options.max_write_buffer_number)),
            "file_size": (
                cf.options.target_file_size_base_bytes,
                min(64 * MIB, cf.options.target_file_size_base_bytes),
            ),
        }
        wanted: WantedSettings = {(knob, cf.name): goal for knob, (now, goal) in held.items() if now != goal}
        if sample.options.database["bytes_per_sync"] != str(16 * MIB):
            wanted["bytes_per_sync", None] = 16 * MIB
        yield wanted


def spring_and_gear(windows: Sequence[Sample], _given: Given) -> Iterator[WantedSettings]:
    """Delay from the trigger on, at the mean rate at which level 0 drains (performance-stability-vldb19, 2.3).

    The mean is that of all windows, which is what the law's is for the first 300 s.
    """
    before, drain, lasted_s = None, 0.0, 0.0
    for sample in windows:
        (cf,) = sample.column_families
        trigger, size = cf.options.level0_file_num_compaction_trigger, (cf.level_bytes or (0,))[0]
        if before is not None:
            out = max(0.0, (sample.flushed_bytes_per_s or 0) - (size - before) / sample.interval_s)
            if out or cf.l0_files >= trigger:
                lasted_s += sample.interval_s
                drain += (out - drain) * (sample.interval_s / lasted_s)
        before = size
        wanted: WantedSettings = {}
        if cf.options.level0_slowdown_writes_trigger != trigger:
            wanted["level0_slowdown_trigger", cf.name] = trigger
        yield wanted | (readings_systems.rate(sample, max(4 * MIB, int(drain))) if lasted_s else {})


#: The reading of each law, and the knobs that it covers; None for all knobs of the law.
READINGS: Mapping[str, tuple[Reading, frozenset[str] | None]] = {
    "fixed": (fixed, None),
    "manual": (manual, None),
    "adoc": (adoc, None),
    "adoc-released": (adoc_released, None),
    "mimd": (mimd, None),
    "toggle": (toggle, frozenset({"auto_compaction"})),
    "silk": (silk, frozenset({"rate_limit"})),
    "stability": (stability, None),
    "spring-and-gear": (spring_and_gear, None),
    "speedb": (readings_systems.speedb, None),
    "tikv": (readings_systems.tikv, None),
    "cockroach": (readings_systems.cockroach, None),
    "tide": (tide, frozenset({"background_jobs", "subcompactions", "memtable_size", "memtable_number"})),
}


def _moved(sample: Sample, cf: ColumnFamilySample, jobs: int, batch: int) -> WantedSettings:
    wanted: WantedSettings = {}
    if jobs != sample.background_jobs:
        wanted["background_jobs", None] = jobs
    if batch != cf.options.write_buffer_size_bytes:
        wanted["batch_size", cf.name] = batch
    return wanted


def _stalls(cf: ColumnFamilySample, cause: str) -> bool:
    return any(count for name, count in cf.stall_counts.items() if name in (f"{cause}_stops", f"{cause}_slowdowns"))


def _in_debt(cf: ColumnFamilySample) -> bool:
    return 0 < cf.options.soft_pending_compaction_bytes_limit <= cf.pending_compaction_bytes


def _whole(value: ParameterValue) -> int:
    return int(value)

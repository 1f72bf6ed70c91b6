"""Readings of the laws of production systems (adocd_bench.laws.readings), for one column family."""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from adocd.model.sample import ColumnFamilySample, Sample
from adocd_bench.laws.wanted import Given, WantedSettings

MIB, GIB = 1 << 20, 1 << 30
_UNLIMITED = 1 << 40


def speedb(windows: Sequence[Sample], _given: Given) -> Iterator[WantedSettings]:
    """Divide the owner's rate by what is left before the nearest limit (Speedb's use_dynamic_delay)."""
    for sample in windows:
        (cf,) = sample.column_families
        yield rate(sample, max(MIB, int(owners_rate(sample) / _divisor(cf))))


def _divisor(cf: ColumnFamilySample) -> Fraction:
    o, n, p = cf.options, cf.l0_files, cf.pending_compaction_bytes
    slow, stop = o.level0_slowdown_writes_trigger, o.level0_stop_writes_trigger
    soft, hard = o.soft_pending_compaction_bytes_limit, o.hard_pending_compaction_bytes_limit
    found = [Fraction(1)]
    if n >= slow:
        found.append(Fraction(stop - slow, stop - n) if n < stop else Fraction(_UNLIMITED))
    if 0 < soft <= p and hard > soft:
        k = (p - soft) // ((hard - soft) // 100)
        found.append(Fraction(100, 100 - k) if k < 100 else Fraction(_UNLIMITED))
    if o.max_write_buffer_number > 3 and cf.immutable_memtables >= o.max_write_buffer_number - 1:
        found.append(Fraction(10))
    return max(found)


def tikv(windows: Sequence[Sample], _given: Given) -> Iterator[WantedSettings]:
    """Limit from more than 20 files on, begun at the recent flow, and take off the drop (TiKV's flow controller).

    Memtables are left out: with two of them they never limit.
    """
    flow, debts = deque[float](maxlen=30), deque[float](maxlen=1024)
    limit, last, drop, offered, counts, debt_counts = 0.0, 0.0, 0.0, 0.0, False, False
    for sample in windows:
        (cf,) = sample.column_families
        flow.extend([sample.written_bytes_per_s] if sample.written_bytes_per_s else [])
        p90 = sorted(flow)[int(0.9 * len(flow))] if flow else 0.0
        counts |= cf.l0_files < 20
        for event in sample.events:
            if event.kind == "flush_end" or (event.kind == "compaction_end" and event.base_level == 0):
                if cf.l0_files > 20 and counts:
                    limit = max(1.0 * MIB, 0.8 * limit) if limit else last or p90
                    limit = 0.0 if limit > 200 * MIB else limit
                elif limit:
                    last, limit = 1.25 * limit, 0.0
            if event.kind == "compaction_end":
                debts.append(math.log2(max(1, cf.pending_compaction_bytes)))
                debt_counts |= cf.pending_compaction_bytes < 192 * GIB
                x = sum(debts) / len(debts) if debt_counts else 0.0
                way = (x - math.log2(192 * GIB)) / (math.log2(1024 * GIB) - math.log2(192 * GIB))
                offered = offered if drop else p90
                drop = 0.0 if way < 0 else min(1.0, 0.6 * drop + 0.4 * way) if drop else min(0.01, 0.4 * way)
        wanted = limits(cf, {"level0_slowdown_trigger": 21, "soft_pending_limit": 192 * GIB})
        wanted |= limits(cf, {"hard_pending_limit": 0})
        next_one = limit or (offered if drop else last or p90)
        yield (wanted if counts else {}) | (rate(sample, max(MIB, int((1 - drop) * next_one))) if next_one else {})


def cockroach(windows: Sequence[Sample], _given: Given) -> Iterator[WantedSettings]:
    """Let in what leaves level 0, scaled by its score, and what flushes take (CockroachDB's io_load_listener.go)."""
    before: int | None = None
    carried: float | None = None
    tokens: float | None = None
    flushing: float | None = None
    cost, factor = 1.75, 1.0
    for sample in windows:
        (cf,) = sample.column_families
        n, size, seconds = cf.l0_files, (cf.level_bytes or (0,))[0], sample.interval_s
        then, before = before, size
        if then is None:
            yield {}
            continue
        flushed, written = sample.flushed_bytes_per_s or 0.0, sample.written_bytes_per_s or 0.0
        out = max(0.0, flushed * seconds - (size - then)) / seconds
        carried = _mean(out, carried)
        cost = _mean(min(3.0, max(0.5, flushed / written)), cost) if flushed and written else cost
        s = 2 * max(n / 4000, max(n / 3, min(n, math.floor(size / (5 * MIB) + 0.5))) / 20)
        least = (sample.compaction_written_bytes_per_s or 0.0) / 6
        scaled = carried / 2 * (3 - s) if s < 2 else carried / 2
        scaled = out if s < 0.5 else max(carried * (3 - 2 * s), least) if s < 1 else scaled
        tokens = _mean(scaled, tokens)
        found = [] if s < 0.5 else [tokens]
        ended = [(e.bytes or 0, e.elapsed_s or 0.0) for e in sample.events if e.kind == "flush_end"]
        if (busy_s := sum(elapsed for _, elapsed in ended)) > 0.1 * seconds:
            flushing = _mean(sum(size for size, _ in ended) / busy_s, flushing)
            stops = cf.stall_counts.get("memtable_stops", 0)
            used = 0.025 if cost * written >= 0.9 * factor * flushing else 0.0
            step = -0.025 * (1 if stops == 1 else 2 if stops < 5 else 3) if stops else used
            factor = min(1.5, max(0.5, factor + step))
            found.append(factor * flushing)
        wanted = int(min(found) / cost) if found else _UNLIMITED
        triggers = {"level0_compaction_trigger": min(4, cf.options.level0_file_num_compaction_trigger)}
        yield limits(cf, {**triggers, "level0_slowdown_trigger": 5, "level0_stop_trigger": 128}) | rate(
            sample, max(MIB, wanted)
        )


def rate(sample: Sample, wanted: int) -> WantedSettings:
    """Send a rate that has moved by a tenth, or that RocksDB has lowered below 0.8 of it, and then as another value."""
    now, owners = int(sample.options.database["delayed_write_rate"]), owners_rate(sample)
    in_force = sample.delayed_write_rate_bytes_per_s
    fallen = in_force > 0 and in_force + 1 <= 0.8 * wanted
    comes_back = wanted == owners != now and not in_force
    if not (fallen or comes_back or (wanted != now and abs(wanted - now) * 10 >= now)):
        return {}
    return {("delayed_write_rate", None): wanted + (wanted == now)}


def owners_rate(sample: Sample) -> int:
    """Return the owner's delayed_write_rate, in bytes/s."""
    return int((sample.originals or sample.options).database["delayed_write_rate"])


def limits(cf: ColumnFamilySample, values: Mapping[str, int]) -> WantedSettings:
    """Return the limits that differ from those in force."""
    options = {
        "level0_compaction_trigger": cf.options.level0_file_num_compaction_trigger,
        "level0_slowdown_trigger": cf.options.level0_slowdown_writes_trigger,
        "level0_stop_trigger": cf.options.level0_stop_writes_trigger,
        "soft_pending_limit": cf.options.soft_pending_compaction_bytes_limit,
        "hard_pending_limit": cf.options.hard_pending_compaction_bytes_limit,
    }
    return {(knob, cf.name): value for knob, value in values.items() if options[knob] != value}


def _mean(value: float, before: float | None) -> float:
    return value if before is None else before + (value - before) * 0.5

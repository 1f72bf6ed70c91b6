"""The workloads, by name: which program makes them, and with what.

Closed loops are stock db_bench's; what arrives by itself, and YCSB, is the load generator's. Rates and records are for
a scale of 1; a scale of N divides both.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.loads.closed_loop import Benchmark, DbBenchLoad
from adocd_bench.evaluation.loads.generated import READS, READS_S, GeneratedLoad
from adocd_bench.evaluation.loads.program import LoadProgram
from adocd_bench.load import arrivals, ycsb
from adocd_bench.load.arrivals import Steps
from adocd_bench.load.build import GENERATOR
from adocd_bench.load.spec import ClosedArrivals, KeyChoice, Mix, OpenArrivals, Work
from adocd_bench.programs.db_bench import find_measuring_db_bench

#: What is loaded before the measured phase, at scale 1: 4 GB, sixteen times level 1.
RECORDS = 4_000_000
ALIASES: Mapping[str, str] = {"read-while-writing": "readwhilewriting"}
#: Clients of an open loop: in a stall all writing clients wait, and arriving operations queue.
_OPEN_CLIENTS, _YCSB_CLIENTS = 8, 4
_UPDATES, _HALF_READS = Mix(update=1.0), Mix(read=0.5, update=0.5)
#: One such record fills a block of RocksDB's default size.
BLOCK_VALUE_BYTES = 4000
#: The thesis's wave in its bytes, and in writes a second of its values (Warlo 2018, 3.4.2 and 4.3).
SINE_VALUE_BYTES, SINE_RECORDS = 100_000, 100_000
_SINE_PERIOD_S, _SINE_LOW, _SINE_SWING, _SINE_QUIET = 350, 500.0, 750.0, 100.0
#: The stability paper's burst: 25 minutes and 5 (4.2); in a shorter run both are as much shorter, so that it has two.
_BURST_S, _BURST_HIGH_SHARE = 1800, 1 / 6
TRACE = "trace:"
BURSTS = Path(arrivals.__file__).with_name("traces") / "bursts.csv"
#: Ten records at the mean: the bytes of the paper's tens of keys, whose median is 400 bytes.
_BURSTS_SCAN_LENGTH = 20
TWO_PHASE = "two-phase"


@dataclass(frozen=True, slots=True)
class LoadAsked:
    """What a workload is asked for with; `rate_per_s` makes a closed loop open, and None leaves it to the workload."""

    seconds: int
    scale: int
    rate_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class BenchWorkload:
    """One workload; `program` makes what runs it, or raises BenchError with what to install or to say."""

    name: str
    title: str
    program: Callable[[LoadAsked], LoadProgram]
    #: Its rate is found before the runs, as a share of the most that the baseline can do (two_phase.py).
    needs_maximum: bool = False


def _db_bench(name: Benchmark, title: str, *, loaded: bool) -> BenchWorkload:
    def program(asked: LoadAsked) -> LoadProgram:
        _no_rate(name, asked)
        records = max(1, RECORDS // asked.scale) if loaded else None
        arguments = {"records": records} if records else {}
        return DbBenchLoad(find_measuring_db_bench(), name, asked.seconds, records, arguments=arguments)

    return BenchWorkload(name, title, program)


def _ycsb(letter: str) -> BenchWorkload:
    core = ycsb.CORE[letter]

    def program(asked: LoadAsked) -> LoadProgram:
        keys = KeyChoice(core.distribution, max(1, RECORDS // asked.scale))
        if asked.rate_per_s is not None:
            arriving = generated(arrivals.constant(asked.rate_per_s, asked.seconds), core.operations, keys)
            return replace(arriving, cached=True)
        work = Work(
            "measured",
            ClosedArrivals(seconds=asked.seconds),
            core.operations,
            keys,
            threads=_YCSB_CLIENTS,
            scan_length=ycsb.SCAN_LENGTH,
        )
        arguments = {"records": keys.records, "threads": work.threads, "distribution": keys.distribution}
        return GeneratedLoad(_generator(), work, asked.seconds, cached=True, arguments=arguments)

    return BenchWorkload(f"ycsb-{letter}", f"YCSB {letter.upper()}: {core.title}", program)


def _arriving(name: str, title: str, steps: Callable[[LoadAsked], Steps], mix: Mix = _UPDATES) -> BenchWorkload:
    """Make a workload of uniform keys among loaded records, whose operations arrive at given times."""

    def program(asked: LoadAsked) -> LoadProgram:
        _no_rate(name, asked)
        rates = arrivals.scaled(steps(asked), 1 / asked.scale)
        return generated(rates, mix, KeyChoice("uniform", max(1, RECORDS // asked.scale)))

    return BenchWorkload(name, title, program)


def _at_rate(name: str, title: str, needed: str, *, needs_maximum: bool = False) -> BenchWorkload:
    """Make updates that arrive at one rate, which is the operator's or was found: it is not scaled."""

    def program(asked: LoadAsked) -> LoadProgram:
        if asked.rate_per_s is None:
            raise BadArgument(needed)
        steps = arrivals.constant(asked.rate_per_s, asked.seconds)
        return generated(steps, _UPDATES, KeyChoice("uniform", max(1, RECORDS // asked.scale)))

    return BenchWorkload(name, title, program, needs_maximum)


def _sine(name: str, title: str, until_s: int | None) -> BenchWorkload:
    """Make the thesis's wave: with `until_s` its own 350 s and a quiet tail, else one period of the asked length."""

    def program(asked: LoadAsked) -> LoadProgram:
        _no_rate(name, asked)
        period_s = asked.seconds if until_s is None else _SINE_PERIOD_S
        steps = arrivals.sine(_SINE_LOW, _SINE_SWING, period_s, quiet_per_s=_SINE_QUIET, until_s=until_s)
        keys = KeyChoice("uniform", max(1, SINE_RECORDS // asked.scale))
        made = generated(arrivals.scaled(steps, 1 / asked.scale), _UPDATES, keys)
        reads = Work("reads", ClosedArrivals(count=max(1, READS // asked.scale), seconds=READS_S), Mix(read=1.0), keys)
        return replace(made, value_bytes=SINE_VALUE_BYTES, loaded=False, reads=reads)

    return BenchWorkload(name, title, program)


def generated(steps: Steps, mix: Mix, keys: KeyChoice) -> GeneratedLoad:
    """Make the generator's program for operations that arrive by these steps."""
    seconds, mean_per_s = round(arrivals.total_s(steps)), arrivals.mean_per_s(steps)
    work = Work("measured", OpenArrivals(steps), mix, keys, threads=_OPEN_CLIENTS, scan_length=ycsb.SCAN_LENGTH)
    arguments = {"records": keys.records, "threads": work.threads, "distribution": keys.distribution}
    return GeneratedLoad(_generator(), work, seconds, offered_per_s=mean_per_s, arguments=arguments)


def _trace(name: str) -> BenchWorkload:
    file = Path(name.removeprefix(TRACE))
    steps = arrivals.trace(file)
    return _arriving(name, f"updates as the trace {file.name} has them", lambda _: steps)


def _burst(asked: LoadAsked) -> Steps:
    period_s = min(_BURST_S, asked.seconds / 2)
    high_s = period_s * _BURST_HIGH_SHARE
    return arrivals.burst(low_s=period_s - high_s, high_s=high_s, seconds=asked.seconds)


def _lapsed_burst(asked: LoadAsked) -> Steps:
    """Shorten a run of under half an hour but keep each burst's records, and so the number of memtables they fill."""
    return arrivals.scaled(_burst(asked), max(1.0, 2 * _BURST_S / asked.seconds))


def _peaks(peak_s: int) -> BenchWorkload:
    title = f"half reads, half updates: valleys of 10 s at 10,000/s, peaks of {peak_s} s at 40,000/s (SILK)"
    return _arriving(f"peaks-{peak_s}", title, lambda asked: arrivals.peaks(peak_s, asked.seconds), _HALF_READS)


def _block_peaks(peak_s: int) -> BenchWorkload:
    """Make SILK's bytes a second in records as large as a block: a read then costs the device what the law counts."""
    name = f"peaks-{peak_s}-4kb"
    title = f"the same bytes a second in records of {BLOCK_VALUE_BYTES:,} bytes: a quarter of the operations"

    def program(asked: LoadAsked) -> LoadProgram:
        _no_rate(name, asked)
        rates = arrivals.scaled(arrivals.peaks(peak_s, asked.seconds), 1 / (4 * asked.scale))
        keys = KeyChoice("uniform", max(1, RECORDS // (4 * asked.scale)))
        return replace(generated(rates, _HALF_READS, keys), value_bytes=BLOCK_VALUE_BYTES)

    return BenchWorkload(name, title, program)


def _bursts() -> BenchWorkload:
    """Make a trace of our own in the shape of SILK's production trace (6.2), which is not public.

    Mix, valleys, and short and long peaks are the paper's; records and bytes a second are those of `_block_peaks`.
    """

    def program(asked: LoadAsked) -> LoadProgram:
        _no_rate("trace-bursts-4kb", asked)
        rates = arrivals.scaled(arrivals.trace(BURSTS), 1 / asked.scale)
        keys = KeyChoice("uniform", max(1, RECORDS // (4 * asked.scale)))
        made = generated(rates, Mix(update=0.57, read=0.41, scan=0.02), keys)
        work = replace(made.work, scan_length=_BURSTS_SCAN_LENGTH)
        return replace(made, work=work, value_bytes=BLOCK_VALUE_BYTES)

    title = "600 s of short and long peaks in the shape of SILK's production trace, in records of 4,000 bytes"
    return BenchWorkload("trace-bursts-4kb", title, program)


def _generator() -> Path:
    return GENERATOR.find_or_build(lambda line: print(line, file=sys.stderr))


def _no_rate(name: str, asked: LoadAsked) -> None:
    if asked.rate_per_s is not None:
        raise BadArgument(f"{name} takes no --rate: constant does, and ycsb-a to ycsb-f")


_ALL = (
    _db_bench("fillrandom", "random writes as fast as they go (db_bench)", loaded=False),
    _db_bench("overwrite", "random overwrites of loaded records as fast as they go (db_bench)", loaded=True),
    _db_bench("readwhilewriting", "one thread writes, one reads loaded records (db_bench)", loaded=True),
    *(_ycsb(letter) for letter in ycsb.CORE),
    _at_rate("constant", "updates at one rate, which --rate gives", "constant needs --rate: operations a second"),
    _at_rate(
        TWO_PHASE,
        "updates at 95 % of what the baseline can do in a closed loop, which is measured first (stability paper)",
        "two-phase finds its own rate: give no --rate",
        needs_maximum=True,
    ),
    _arriving("burst", "updates at 2,000/s, a sixth of the time at 8,000/s (stability paper)", _burst),
    _arriving(
        "burst-lapse", "burst in time-lapse: its half hour in half of --seconds, at rates as much higher", _lapsed_burst
    ),
    _sine("sine", "the thesis's wave, 50 to 200 MB/s, one period in the time that --seconds gives", None),
    _sine("sine-350", "the thesis's wave as it is, 350 s, and what reads cost afterwards", 350),
    _sine("sine-700", "the same, and then 10 MB/s until 700 s", 700),
    _sine("sine-1000", "the same, and then 10 MB/s until 1000 s", 1000),
    *(_peaks(peak_s) for peak_s in (10, 50, 100)),
    _bursts(),
    *(_block_peaks(peak_s) for peak_s in (10, 50, 100)),
)
WORKLOADS: Mapping[str, BenchWorkload] = {workload.name: workload for workload in _ALL}


def workload(name: str) -> BenchWorkload:
    """Find a workload by its name. Raises BadArgument, with the known names, or for a trace that cannot be read."""
    known = ALIASES.get(name, name)
    if known.startswith(TRACE):
        return _trace(known)
    if known not in WORKLOADS:
        raise BadArgument(f"there is no workload {name!r}: use some of {', '.join(WORKLOADS)}, or {TRACE}FILE")
    return WORKLOADS[known]

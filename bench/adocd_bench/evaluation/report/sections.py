"""The report's parts: what it is of, what was compared, the blocks with their figures, the five claims, every run."""

from collections import Counter
from collections.abc import Mapping, Sequence

from adocd_bench.evaluation.plan import FailedRun
from adocd_bench.evaluation.raw import BASELINE, RawRun, SchemeUsed
from adocd_bench.evaluation.report import comparison, disturbed, pairs, words
from adocd_bench.evaluation.report.document import Document, Heading, Items, Paragraph, Part, Table
from adocd_bench.evaluation.report.measures import MEASURES
from adocd_bench.evaluation.report.sections_block import DRAINED_BEFORE, block_parts, command
from adocd_bench.evaluation.report.sections_claims import claim_parts
from adocd_bench.evaluation.report.sections_failed import failed_in_words, failed_parts
from adocd_bench.evaluation.report.sections_search import grid_parts, sustained_parts
from adocd_bench.evaluation.report.sections_wal import wal_parts
from adocd_bench.evaluation.report.summary import NO_PLACE, Block, Judged, Standing
from adocd_bench.evaluation.search.halving import Searched
from adocd_bench.evaluation.search.sustained import Search
from adocd_bench.host.device import WAL_OUTSIDE

_TITLE = "Evaluation of adocd's control laws on real RocksDB"
_RANKED = (
    "Closed loops are ranked by operations/s over run, restore and drain: the phase's operations over the time until "
    "the owner's options were back and nothing was due under them. Open loops are ranked by the 99th percentile of all "
    "latencies from the intended start, for there throughput is what was offered. A place is behind all schemes that "
    "were found better and before all that were found worse, so it may be a range, such as 2 to 4. The sign = says "
    "that those who share a place were found the same. Where nothing tells a scheme from any other, its place is not "
    "shown."
)
_LEFT_OUT = (
    "Medians and spreads are over repetitions. Disturbed runs are left out where two or more others of the scheme are "
    f"left; else they are kept, and figures that they went into have {words.MARK}. No verdict rests on them. A scheme "
    f"with fewer than {comparison.LEAST_PAIRS} undisturbed repetitions makes its block weak evidence."
)


def document(
    blocks: Sequence[Block],
    failed: Sequence[FailedRun],
    searches: Mapping[str, Search],
    grids: Sequence[Searched],
    unlike_maximum: Sequence[str] = (),
) -> Document:
    """Put the report together."""
    runs = [judged for block in blocks for scheme in block.schemes for judged in scheme.runs]
    parts: list[Part] = [
        Heading(1, _TITLE),
        *_head([judged.run for judged in runs], blocks, failed),
        *_rules(),
    ]
    if blocks:
        parts += _schemes(blocks)
    for block in blocks:
        parts += block_parts(block)
    parts += wal_parts(blocks)
    parts += grid_parts(grids)
    parts += sustained_parts(searches, unlike_maximum)
    parts += claim_parts(blocks, searches)
    parts += failed_parts(failed)
    if blocks:
        parts += _runs(blocks)
    return Document(_TITLE, parts)


def _head(runs: Sequence[RawRun], blocks: Sequence[Block], failed: Sequence[FailedRun]) -> list[Part]:
    title = Heading(2, "What this is of")
    if not runs:
        return [title, Paragraph("Searches alone; there are no runs to compare.")]
    first, last = min(run.started_unix_s for run in runs), max(run.started_unix_s + run.wall_s for run in runs)
    machines = {pairs.machine_of(run) for run in runs}
    marked = sum(1 for block in blocks for scheme in block.schemes for judged in scheme.runs if judged.marks)
    items = [
        *_machine(runs),
        f"{words.counted(len(runs), 'run')} in {words.counted(len(blocks), 'block')}, from {words.moment(first)} to "
        f"{words.moment(last)}; they took {words.digits(_hours(runs))} h of the machines' time, without searches.",
        f"{marked} of {len(runs)} runs were disturbed and are marked at the end; {failed_in_words(failed)}.",
        *_without_kernel(runs),
        *_caps(runs),
        *_escapes(runs),
    ]
    if len(machines) > 1:
        items.append(
            f"The runs are of {len(machines)} machines, by processor and kernel: two runs of one repetition are a pair "
            "only if they are of one machine."
        )
    scales = sorted({run.scale for run in runs})
    if scales != [1]:
        items.append(
            f"Scale: {', '.join(f'1/{scale}' for scale in scales)}; all sizes of the database, of the laws' byte "
            "bounds and offered rates are divided by it."
        )
    weak = [block.name for block in blocks if block.weak]
    if weak:
        items.append(
            f"Weak evidence, with fewer than {comparison.LEAST_PAIRS} undisturbed repetitions of a scheme: "
            f"{', '.join(weak)}."
        )
    before = [block.name for block in blocks if not block.restored]
    if before:
        items.append(f"{DRAINED_BEFORE} So in {', '.join(before)}. Compare these with no others.")
    lone = [block.name for block in blocks if block.scheme(BASELINE) is None]
    if lone:
        items.append(f"Without a baseline of their own, and so without ratios: {', '.join(lone)}.")
    return [title, Items(tuple(items)), _overview(blocks)]


def _hours(runs: Sequence[RawRun]) -> float:
    """Count the hours in which at least one run went on."""
    hours = end_s = 0.0
    for run in sorted(runs, key=lambda run: run.started_unix_s):
        until_s = run.started_unix_s + run.wall_s
        hours += max(0.0, until_s - max(end_s, run.started_unix_s)) / 3600
        end_s = max(end_s, until_s)
    return hours


def _machine(runs: Sequence[RawRun]) -> list[str]:
    machine = runs[0].machine
    write, read = (_bandwidth(runs, way) for way in ("device_write_bytes_per_s", "device_read_bytes_per_s"))
    measured = "its bandwidth was not measured"
    if write and read:
        measured = f"measured with direct I/O: {write} writing, {read} reading"
    adocd, rocksdb, programs = (
        ", ".join(sorted({getattr(run.machine, version) for run in runs}))
        for version in ("adocd_version", "rocksdb_version", "program_version")
    )
    return [
        f"{machine.cpu_model}, {machine.cpus} processors, {words.size(machine.memory_bytes)} of memory; "
        f"{machine.distribution}, Linux {machine.kernel}.",
        f"Device {machine.device or 'unknown'}; {measured}.",
        f"adocd {adocd}, RocksDB {rocksdb}, {programs}.",
        *_code(runs),
    ]


def _code(runs: Sequence[RawRun]) -> list[str]:
    """Name the versions of the code that the runs were made by; nothing where none of them recorded it."""
    known = [run.machine.code for run in runs if run.machine.code is not None]
    if not known:
        return []
    counts = ", ".join(f"{code} ({words.counted(count, 'run')})" for code, count in sorted(Counter(known).items()))
    lacking = f"; {len(runs) - len(known)} runs did not record it" if len(known) < len(runs) else ""
    return [f"Code, by a hash of the sources and the agent: {counts}{lacking}."]


def _bandwidth(runs: Sequence[RawRun], way: str) -> str:
    """Say what was measured; where that was before each plan, from the least to the most."""
    found = sorted({measured for run in runs if (measured := getattr(run.machine, way)) is not None})
    return " to ".join(dict.fromkeys(words.rate(measured) for measured in (*found[:1], *found[-1:])))


def _without_kernel(runs: Sequence[RawRun]) -> list[str]:
    lacking = sum(run.noise.others_kernel_fraction is None for run in runs)
    return [f"Of {lacking} runs the kernel's time was not recorded, so others' CPU is without it."] if lacking else []


def _caps(runs: Sequence[RawRun]) -> list[str]:
    measured = _bandwidth(runs, "device_write_bytes_per_s")
    beside = f" The device itself wrote {measured}." if measured else ""
    return [f"Device profiles: {', '.join(sorted({run.profile for run in runs}))} (the cap in MB/s).{beside}"]


def _escapes(runs: Sequence[RawRun]) -> list[str]:
    items = []
    if any(run.wal_outside_cap for run in runs):
        items.append(
            f"What escapes the cap on profiles named {WAL_OUTSIDE}: the write-ahead log, whose buffered writes cgroup "
            "v1 does not count to the program. Flushes, compactions and reads are direct and under it."
        )
    late_s = [run.capped_at_s for run in runs if run.capped_at_s is not None]
    if late_s:
        items.append(
            f"Records were loaded before the cap came into force, {words.digits(max(late_s))} s after the measured "
            "phase's begin at the latest."
        )
    law_s = [run.law_at_s for run in runs if run.law_at_s is not None]
    if law_s:
        items.append(
            f"Records were loaded without the law, which was set {words.digits(max(law_s))} s after the measured "
            "phase's begin at the latest."
        )
    return items


def _overview(blocks: Sequence[Block]) -> Table:
    rows = [
        (
            block.name,
            _places([(scheme.standing, scheme.name) for scheme in block.schemes]) + _without_place(block),
            "p99 latency" if block.open_loop else "operations/s over run and drain",
            _places([(scheme.phase_standing, scheme.name) for scheme in block.schemes]),
            str(block.repetitions),
            "weak" if block.weak else "",
        )
        for block in blocks
    ]
    head = ("block", "places (= the same)", "ranked by", "places in the phase", "repetitions", "evidence")
    return Table("All blocks", head, tuple(rows), words=6)


def _without_place(block: Block) -> str:
    """Name the schemes that have no place because a drain was cut off: they must not be missing as if never run."""
    names = [scheme.name for scheme in block.schemes if scheme.cut_off and MEASURES[block.rank_by].drained]
    return f"; no place, for a drain was cut off: {', '.join(names)}" if names else ""


def _places(standings: Sequence[tuple[Standing | None, str]]) -> str:
    placed = [(standing, name) for standing, name in standings if standing is not None]
    if placed and all(str(standing) == NO_PLACE for standing, _ in placed):
        return NO_PLACE
    ordered = sorted(placed, key=lambda each: (each[0].place, each[0].last))
    return ", ".join(f"{name} ({standing})" for standing, name in ordered)


def _rules() -> list[Part]:
    return [
        Heading(2, "How to read it"),
        Items((_RANKED, comparison.RULE, pairs.RULE, _LEFT_OUT, disturbed.RULE)),
        Paragraph(
            "A cell is the median over repetitions, and in parentheses the smallest and the largest where they differ. "
            "Percentiles are by the nearest rank, evenly within a bucket; db_bench's own buckets are within 50 % of a "
            "value, the load generator's within 0.1 %. Stopped and delayed time is from RocksDB's LOG: how long the "
            "condition held. Write amplification is flushes and compactions over what users wrote, the WAL aside."
        ),
    ]


def _schemes(blocks: Sequence[Block]) -> list[Part]:
    """Say how each was run: its options beside the default's, for each block where they are not the same in all."""
    rows = []
    for name in sorted({scheme.name for block in blocks for scheme in block.schemes}):
        found = [(block, scheme.used_as) for block in blocks if (scheme := block.scheme(name)) is not None]
        said = [_as_run(used, _baseline(block)) for block, used in found]
        if all(row == said[0] for row in said):
            rows.append((name, *said[0]))
        else:
            rows += [(f"{name}, {block.name}", *row) for (block, _), row in zip(found, said, strict=True)]
    head = ("scheme", "what it is", "options at the open", "limiter", "policy")
    return [Heading(2, "Schemes"), Table("Schemes, as they were run", head, tuple(rows), words=5)]


def _baseline(block: Block) -> SchemeUsed | None:
    scheme = block.scheme(BASELINE)
    return None if scheme is None else scheme.used_as


def _as_run(scheme: SchemeUsed, baseline: SchemeUsed | None) -> tuple[str, ...]:
    known = {} if baseline is None or baseline.name == scheme.name else dict(baseline.options)
    options = _listed({option: value for option, value in scheme.options.items() if known.get(option) != value})
    limiter = "none"
    if scheme.rate_limiter_bytes_per_s is not None:
        tuned = ", auto-tuned" if scheme.auto_tuned else ""
        limiter = f"{words.rate(scheme.rate_limiter_bytes_per_s)}{tuned}"
    policy = f"{scheme.policy} ({_listed(scheme.parameters)})" if scheme.parameters else scheme.policy
    return scheme.title, options or (f"as {BASELINE}" if known else "RocksDB's defaults"), limiter, policy


def _listed(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(values.items()))


def _others_cpu(run: RawRun) -> str:
    """Write what others had over the whole run, and in its phase where that is known."""
    in_phase = run.noise.measured_others_fraction
    phase = "" if in_phase is None else f"; {words.share(in_phase)} in the phase"
    return f"{words.share(disturbed.others_cpu(run))}{phase}"


def _remarks(judged: Judged, *, left_out: bool) -> str:
    said = "; ".join(judged.marks) + (" (left out)" if left_out else "")
    return "; ".join(each for each in (said, "its drain was cut off" if judged.run.cut_off else "") if each)


def _runs(blocks: Sequence[Block]) -> list[Part]:
    parts: list[Part] = [Heading(2, "Every run")]
    for block in blocks:
        rows = [
            (
                scheme.name,
                str(judged.run.repetition),
                words.moment(judged.run.started_unix_s),
                words.digits(judged.figures.throughput_per_s),
                words.span(judged.run.wall_s),
                _others_cpu(judged.run),
                _remarks(judged, left_out=judged not in scheme.used),
            )
            for scheme in block.schemes
            for judged in scheme.runs
        ]
        head = ("scheme", "repetition", "started", "operations/s", "took", "others' CPU", "disturbed by")
        parts.append(Table(f"Runs of {block.name}", head, tuple(rows), words=7, command=command(block)))
    return parts

"""The report's parts: what it is of, what was compared, the blocks with their figures, the five claims, every run."""

from collections.abc import Mapping, Sequence

from adocd_bench.evaluation.raw import RawRun, SchemeUsed
from adocd_bench.evaluation.report import comparison, disturbed, words
from adocd_bench.evaluation.report.claims import Judgement, judge
from adocd_bench.evaluation.report.document import Document, Heading, Items, Paragraph, Part, Table
from adocd_bench.evaluation.report.papers import CLAIMS
from adocd_bench.evaluation.report.sections_block import DRAINED_BEFORE, block_parts, command
from adocd_bench.evaluation.report.sections_search import grid_parts, sustained_parts
from adocd_bench.evaluation.report.summary import BASELINE, Block
from adocd_bench.evaluation.search.halving import Searched
from adocd_bench.evaluation.search.sustained import Search

_TITLE = "Evaluation of adocd's control laws on real RocksDB"
_RANKED = (
    "Closed loops are ranked by operations/s over run, restore and drain: the phase's operations over the time until "
    "the owner's options were back and nothing was due under them. Open loops are ranked by the 99th percentile of all "
    "latencies from the intended start, for there throughput is what was offered. Schemes tie where no difference to "
    "the best of their group was shown."
)
_LEFT_OUT = (
    "Medians and spreads are over repetitions. Disturbed runs are left out where two or more others of the scheme are "
    f"left; else they are kept, and figures that they went into have {words.MARK}. A scheme with fewer than two "
    "undisturbed repetitions makes its block weak evidence."
)


def document(
    blocks: Sequence[Block], failed: int, searches: Mapping[str, Search], grids: Sequence[Searched]
) -> Document:
    """Put the report together."""
    runs = [judged for block in blocks for scheme in block.schemes for judged in scheme.runs]
    parts: list[Part] = [
        Heading(1, _TITLE),
        *_head([judged.run for judged in runs], blocks, failed),
        *_rules(),
        *_schemes(blocks),
    ]
    for block in blocks:
        parts += block_parts(block)
    parts += grid_parts(grids)
    parts += sustained_parts(searches)
    parts += _claims(blocks, searches)
    parts += _runs(blocks)
    return Document(_TITLE, parts)


def judgements(blocks: Sequence[Block], searches: Mapping[str, Search]) -> list[tuple[str, list[Judgement]]]:
    """Hold every claim against the blocks, and against what lasts."""
    return [(claim.title, [judge(point, blocks, searches) for point in claim.points]) for claim in CLAIMS]


def _head(runs: Sequence[RawRun], blocks: Sequence[Block], failed: int) -> list[Part]:
    first, last = min(run.started_unix_s for run in runs), max(run.started_unix_s + run.wall_s for run in runs)
    machines = {(run.machine.cpu_model, run.machine.cpus, run.machine.memory_bytes, run.machine.kernel) for run in runs}
    marked = sum(1 for block in blocks for scheme in block.schemes for judged in scheme.runs if judged.marks)
    items = [
        *_machine(runs),
        f"{words.counted(len(runs), 'run')} in {words.counted(len(blocks), 'block')}, from {words.moment(first)} to "
        f"{words.moment(last)}; they took {words.digits(sum(run.wall_s for run in runs) / 3600)} h.",
        f"{marked} of {len(runs)} runs were disturbed and are marked at the end; {failed} failed and are not here.",
        *_caps(runs),
        *_escapes(runs),
    ]
    if len(machines) > 1:
        items.append(f"The runs are of {len(machines)} machines: compare within a block only if it is of one.")
    scales = sorted({run.scale for run in runs})
    if scales != [1]:
        items.append(
            f"Scale: {', '.join(f'1/{scale}' for scale in scales)}; all sizes of the database, of the laws' byte "
            "bounds and offered rates are divided by it."
        )
    weak = [block.name for block in blocks if block.weak]
    if weak:
        items.append(f"Weak evidence, with fewer than two undisturbed repetitions of a scheme: {', '.join(weak)}.")
    before = [block.name for block in blocks if not block.restored]
    if before:
        items.append(f"{DRAINED_BEFORE} So in {', '.join(before)}. Compare these with no others.")
    lone = [block.name for block in blocks if block.scheme(BASELINE) is None]
    if lone:
        items.append(f"Without a baseline of their own, and so without ratios: {', '.join(lone)}.")
    return [Heading(2, "What this is of"), Items(tuple(items)), _overview(blocks)]


def _machine(runs: Sequence[RawRun]) -> list[str]:
    machine = runs[0].machine
    write, read = (_bandwidth(runs, way) for way in ("device_write_bytes_per_s", "device_read_bytes_per_s"))
    measured = "its bandwidth was not measured"
    if write and read:
        measured = f"measured with direct I/O: {write} writing, {read} reading"
    programs = sorted({run.machine.program_version for run in runs})
    return [
        f"{machine.cpu_model}, {machine.cpus} processors, {words.size(machine.memory_bytes)} of memory; "
        f"{machine.distribution}, Linux {machine.kernel}.",
        f"Device {machine.device or 'unknown'}; {measured}.",
        f"adocd {machine.adocd_version}, RocksDB {machine.rocksdb_version}, {', '.join(programs)}.",
    ]


def _bandwidth(runs: Sequence[RawRun], way: str) -> str:
    """Say what was measured; where that was before each plan, from the least to the most."""
    found = sorted({measured for run in runs if (measured := getattr(run.machine, way)) is not None})
    return " to ".join(dict.fromkeys(words.rate(measured) for measured in (*found[:1], *found[-1:])))


def _caps(runs: Sequence[RawRun]) -> list[str]:
    measured = _bandwidth(runs, "device_write_bytes_per_s")
    beside = f" The device itself wrote {measured}." if measured else ""
    return [f"Device profiles: {', '.join(sorted({run.profile for run in runs}))} (the cap in MB/s).{beside}"]


def _escapes(runs: Sequence[RawRun]) -> list[str]:
    items = []
    if any(run.wal_outside_cap for run in runs):
        items.append(
            "What escapes the cap: the write-ahead log, whose buffered writes cgroup v1 does not count to the program. "
            "Flushes, compactions and reads are direct and under it."
        )
    late_s = [run.capped_at_s for run in runs if run.capped_at_s is not None]
    if late_s:
        items.append(
            f"The load generator's records were loaded before the cap came into force, {words.digits(max(late_s))} s "
            "after the measured phase's begin at the latest."
        )
    return items


def _overview(blocks: Sequence[Block]) -> Table:
    rows = [
        (
            block.name,
            ", ".join(f"{scheme.standing or '-'} {scheme.name}" for scheme in block.schemes),
            "p99 latency" if block.open_loop else "operations/s over run and drain",
            _phase_places(block),
            str(block.repetitions),
            "weak" if block.weak else "",
        )
        for block in blocks
    ]
    head = ("block", "places (= ties)", "ranked by", "places in the phase", "repetitions", "evidence")
    return Table("All blocks", head, tuple(rows), words=6)


def _phase_places(block: Block) -> str:
    found = [(scheme.phase_standing, scheme.name) for scheme in block.schemes]
    placed = sorted(((standing.place, str(standing), name) for standing, name in found if standing is not None))
    return ", ".join(f"{standing} {name}" for _, standing, name in placed)


def _rules() -> list[Part]:
    return [
        Heading(2, "How to read it"),
        Items((_RANKED, comparison.RULE, _LEFT_OUT, disturbed.RULE)),
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


def _claims(blocks: Sequence[Block], searches: Mapping[str, Search]) -> list[Part]:
    parts: list[Part] = [
        Heading(2, "Five claims, point by point"),
        Paragraph(
            "Each sentence of a paper is held against our runs by the rule beside it. Reproduced: the difference is "
            "there, and at least of the size that the paper gives for this kind of device. Direction only: it is "
            "there, but smaller. Not reproduced: it is the other way round, or three undisturbed pairs or more show "
            "none. Not shown: too few undisturbed repetitions, a baseline that did not stall, or not run."
        ),
    ]
    for number, (title, judged) in enumerate(judgements(blocks, searches), 1):
        rows = [
            (found.point.source, f"\N{LEFT DOUBLE QUOTATION MARK}{found.point.sentence}\N{RIGHT DOUBLE QUOTATION MARK}",
             found.point.claims, found.point.rule.words(), _ours(found), found.verdict)
            for found in judged
        ]  # fmt: skip
        parts.append(Heading(3, f"{number}. {title}"))
        head = ("source", "the paper's words", "claims", "our rule", "our figures", "verdict")
        parts.append(Table(f"Points of claim {number}", head, tuple(rows), words=6))
    return parts


def _ours(found: Judgement) -> str:
    if not found.findings:
        return "no block of ours speaks to it"
    return "; ".join(f"{each.block}: {each.ours} ({each.verdict})" for each in found.findings)


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
                words.share(judged.run.noise.others_cpu_fraction),
                "; ".join(judged.marks) + ("" if judged in scheme.used else " (left out)"),
            )
            for scheme in block.schemes
            for judged in scheme.runs
        ]
        head = ("scheme", "repetition", "started", "operations/s", "took", "others' CPU", "disturbed by")
        parts.append(Table(f"Runs of {block.name}", head, tuple(rows), words=7, command=command(block)))
    return parts

"""One block in the report: its tables, side by side with the baseline, and its pictures."""

from collections.abc import Sequence

from adocd.model.stall import CAUSES
from adocd_bench.evaluation.memory import WITHIN_GRID, most_bytes, twin
from adocd_bench.evaluation.raw import BASELINE
from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.accounting import ALL, CONDITIONS
from adocd_bench.evaluation.report.comparison import LEAST_PAIRS, cell
from adocd_bench.evaluation.report.document import Heading, Paragraph, Part, Picture, Table
from adocd_bench.evaluation.report.measures import MEASURES, POINTS, Spans, latency
from adocd_bench.evaluation.report.pairs import own_device_size
from adocd_bench.evaluation.report.pictures import pictures
from adocd_bench.evaluation.report.sections_acted import acted_parts
from adocd_bench.evaluation.report.sections_notes import note_parts
from adocd_bench.evaluation.report.summary import Block, SchemeSummary
from adocd_bench.evaluation.report.taken import taken_parts
from adocd_bench.evaluation.report.twins import twin_parts

#: Workloads whose rate is the operator's.
_AT_A_RATE = ("constant", "ycsb-")
_CPU = ("cores", "cpu_us_per_operation", "cpu_s")
_COST = ("write_amplification", "write_amplification_drained", "peak_memory_bytes", *_CPU, "debt_bytes", "drain_s")
_REACTION = ("decisions", "decisions_per_minute", "stalls", "unanswered_stalls", "reaction_s", "apply_s")
#: What a block says whose runs are older than the restore.
DRAINED_BEFORE = (
    "Drained under the law's options: the originals were never restored, so what would come due with them is missing "
    "in the time over run and drain."
)
_GB = 1_000_000_000
_CONTROL = (*_REACTION, "daemon_cores", "daemon_memory_bytes")


def command(block: Block) -> str:
    """Write the command that measures a block anew."""
    names = ",".join(sorted(scheme.name for scheme in block.schemes))
    seed = block.first.seed - block.first.repetition + 1
    others = f" --scale {block.scale}" if block.scale != 1 else ""
    others += f" --seed {seed}" if seed != 1 else ""
    if block.device_gb is not None:
        others += f" --device-gb {block.device_gb}"
    if block.at_once > 1:
        others += f" --at-once {block.at_once}"
    rate = block.first.workload.offered_per_s
    if rate is not None and block.workload.startswith(_AT_A_RATE):
        others += f" --rate {rate:g}"
    return (
        f"adocd bench run --scheme {names} --profile {block.profile} --workload {block.workload} "
        f"--seconds {block.seconds:g} --repeat {block.repetitions}{others} --out DIR"
    )


def _at_once(block: Block) -> str:
    """Say that its runs went on beside each other, and how much of the machine they left each other.

    The first and the last runs of a plan have fewer beside them than was asked for, and so have those that are made
    again, so the least is said as well.
    """
    shares = [judged.run.noise.bench_cpu_fraction for scheme in block.schemes for judged in scheme.runs]
    had = sorted(share for share in shares if share is not None)
    least_most = " to ".join(dict.fromkeys(words.share(each) for each in (*had[:1], *had[-1:])))
    beside = f": the bench and the others had {least_most} of all processors beside a run" if had else ""
    return f"Up to {block.at_once} of its runs went on at the same time, each on a device of its own{beside}."


def block_parts(block: Block) -> list[Part]:
    """Write a block."""
    workload = block.first.workload
    loop = "Closed loop"
    if workload.offered_per_s is not None:
        loop = f"Open loop, {words.digits(workload.offered_per_s)} operations/s offered in the mean"
    size = "" if (size_bytes := own_device_size(block.first)) is None else f" ({size_bytes / _GB:.0f} GB)"
    said = (
        f"{workload.title}. {loop}, on {block.profile}{size}; {words.counted(block.repetitions, 'repetition')} with "
        f"{words.span(block.first.measured_s)} measured in each, scale 1/{block.scale}."
    )
    weak = (
        f" Weak evidence: {', '.join(block.weak)} had fewer than {LEAST_PAIRS} undisturbed repetitions."
        if block.weak
        else ""
    )
    beside = "" if block.at_once == 1 else f" {_at_once(block)}"
    drained = "" if block.restored else f" {DRAINED_BEFORE}"
    return [
        Heading(2, block.name),
        Paragraph(said + beside + drained + weak),
        *note_parts(block),
        _done(block),
        *_memory(block),
        _held(block),
        *_latencies(block),
        _of(block, "Amplification, memory, processors and what was left", _COST),
        *taken_parts(block, command(block)),
        _of(block, "Decisions, and what control costs", _CONTROL),
        *acted_parts(block, command(block)),
        *_rules(block),
        *twin_parts(block, command(block)),
        *(Picture(drawing) for drawing in pictures(block)),
    ]


def _done(block: Block) -> Table:
    open_loop = ("completed_share", "worst_of_offered") if block.open_loop else ()
    names = ["with_drain_per_s", "throughput_per_s", *open_loop, "worst_second", "longest_us"]
    names += [name for name in ("reads_after_per_s",) if any(name in scheme.cells for scheme in block.schemes)]
    # An open loop that fell behind ends later: its operations are compared, not its rate.
    versus = (block.rank_by, "operations") if block.open_loop else (block.rank_by, "held_share")
    closed = any(scheme.phase_standing for scheme in block.schemes)
    places = ("place over run and drain", "place in the phase") if closed else ("place",)
    head = ["scheme", *places, *(f"{_title(block, name)}, over default's" for name in versus)]
    rows = [
        (
            scheme.name,
            *(str(standing or "-") for standing in (scheme.standing, scheme.phase_standing)[: len(places)]),
            *(words.compared(scheme.against.get(name)) for name in versus),
            *(_cell(scheme, name) for name in names),
        )
        for scheme in block.schemes
    ]
    titles = [_title(block, name) for name in names]
    return Table("Operations", (*head, *titles), tuple(rows), words=3 + len(places), command=command(block))


def _title(block: Block, name: str) -> str:
    """Name a measure; nothing was restored in older runs."""
    title = MEASURES[name].title
    return title if block.restored else title.replace("run, restore and drain", "run and drain")


def _memory(block: Block) -> list[Part]:
    """Show what each scheme may take and took, and which twin makes the memory equal."""
    baseline = block.scheme(BASELINE)
    budget = None if baseline is None else most_bytes(baseline.used_as)
    if baseline is None or budget is None:
        return []
    used = [scheme.used_as for scheme in block.schemes]
    rows = []
    for scheme in block.schemes:
        most, other = most_bytes(scheme.used_as), twin(scheme.used_as, baseline.used_as, used)
        rows.append(
            (
                scheme.name,
                "missing" if other is None else other or "needs none",
                "not known" if most is None else words.size(most),
                "not known" if most is None else f"{words.digits(most / budget)}",
                _cell(scheme, "peak_memory_bytes"),
            )
        )
    said = f"The block's memory budget is the baseline's, {words.size(budget)} in memtables."
    if not block.open_loop and block.scheme(WITHIN_GRID) is None:
        said += f" `{WITHIN_GRID}` is missing, so the block does not say what static options reach in that memory."
    head = ("scheme", "its twin in memory", "memtables at most", "of the budget", MEASURES["peak_memory_bytes"].title)
    return [Paragraph(said), Table("Memory", head, tuple(rows), words=2, command=command(block))]


def _held(block: Block) -> Table:
    causes = {
        cause
        for scheme in block.schemes
        for judged in scheme.used
        for by_cause in judged.figures.held_s.values()
        for cause in by_cause
    }
    ordered = [*(cause for cause in CAUSES if cause in causes), *sorted(causes - set(CAUSES))]
    columns = [(condition, cause) for condition in CONDITIONS for cause in ordered]
    names = ("stopped_share", "delayed_share", "waited_share")
    head = ("scheme", *(MEASURES[name].title for name in names), *(f"{how}: {why}" for how, why in columns))
    rows = [
        (
            scheme.name,
            *(_cell(scheme, name) for name in names),
            *(_cause(scheme, condition, cause) for condition, cause in columns),
        )
        for scheme in block.schemes
    ]
    return Table("Stopped and delayed time by cause", head, tuple(rows), command=command(block))


def _cause(scheme: SchemeSummary, condition: str, cause: str) -> str:
    found = cell([judged.figures.held_s[condition].get(cause, 0.0) for judged in scheme.used])
    return words.cell("s", found, scheme.marked)


def _latencies(block: Block) -> list[Part]:
    spans: tuple[Spans, ...] = ("queueing", "processing", "total") if block.open_loop else ("processing",)
    kinds = _kinds(block)
    parts: list[Part] = []
    for span in spans:
        names = [(kind, [latency(kind, span, point) for point in POINTS]) for kind in kinds]
        rows = [
            (scheme.name, kind, *(_cell(scheme, name) for name in of_kind))
            for kind, of_kind in names
            for scheme in block.schemes
            if scheme.used[0].figures.latency(kind) is not None
        ]
        head = ("scheme", "operation", *POINTS.values())
        parts.append(Table(f"Latency, {span}", head, tuple(rows), words=2, command=command(block)))
    return parts


def _kinds(block: Block) -> list[str]:
    """Name the kinds that there were; all together only where they are several."""
    found = {each.kind for scheme in block.schemes for judged in scheme.used for each in judged.figures.latencies}
    kinds: list[str] = [kind for kind in ("write", "read", "scan") if kind in found]
    return [*kinds, ALL] if len(kinds) > 1 else kinds


def _of(block: Block, title: str, names: Sequence[str]) -> Table:
    head = ("scheme", *(MEASURES[name].title for name in names))
    rows = tuple((scheme.name, *(_cell(scheme, name) for name in names)) for scheme in block.schemes)
    return Table(title, head, rows, command=command(block))


def _rules(block: Block) -> list[Part]:
    rows = []
    for scheme in block.schemes:
        keys = sorted({key for judged in scheme.used for key in judged.figures.decided})
        for rule, outcome in keys:
            found = cell([float(judged.figures.decided.get((rule, outcome), 0)) for judged in scheme.used])
            rows.append((scheme.name, rule, outcome, words.cell("count", found, scheme.marked)))
    title, head = "Decisions by rule and outcome, in run and drain", ("scheme", "rule", "outcome", "decisions")
    return [Table(title, head, tuple(rows), words=3, command=command(block))] if rows else []


def _cell(scheme: SchemeSummary, name: str) -> str:
    if MEASURES[name].drained and scheme.cut_off:
        return words.CUT_OFF
    return words.cell(MEASURES[name].unit, scheme.cells.get(name), scheme.marked)

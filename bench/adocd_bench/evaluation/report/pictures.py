"""The pictures of a block: what a table cannot show."""

import math
from collections.abc import Sequence

from adocd.model.stall import CAUSES
from adocd_bench.evaluation.raw import LatencyHistogram, OperationKind, RawRun
from adocd_bench.evaluation.report import svg, words
from adocd_bench.evaluation.report.accounting import CONDITIONS, asked_for
from adocd_bench.evaluation.report.measures import Spans
from adocd_bench.evaluation.report.percentiles import MEDIAN_NINES, curve, merged
from adocd_bench.evaluation.report.summary import Block, Judged, SchemeSummary
from adocd_bench.evaluation.report.svg import Axis, Drawing

_WIDTH, _LEFT, _RIGHT = 860, 84, 16
_PANEL, _GAP = 84, 26
_POINTS_MOST = 420
#: A scheme's colour is the same in all blocks; one that is not here comes after them, by its name.
_KNOWN = (
    "default", "adoc", "auto-tuned", "silk", "grid-best", "toggle", "bad", "stability", "adoc-threads", "adoc-batch",
    "adoc-released", "mimd", "toggle-residual", "silk-bandwidth", "silk-hold", "spring-and-gear", "silk-d", "silk-p",
    "silk-o", "limits-raised", "tide", "speedb", "tikv", "cockroach",
)  # fmt: skip
_CAUSE_COLOURS = {"memtable": 0, "l0": 1, "pending_bytes": 2, "other": 3}


def pictures(block: Block) -> list[Drawing]:
    """Draw a block."""
    spans: tuple[Spans, ...] = ("total", "processing") if block.open_loop else ("processing",)
    kinds: tuple[OperationKind, ...] = ("write", "read", "scan")
    found = [throughput(block), level0(block), *(latencies(block, kind, span) for kind in kinds for span in spans)]
    return [drawing for drawing in (*found, held(block), memory(block)) if drawing is not None]


def median_run(scheme: SchemeSummary) -> Judged:
    """Choose the repetition in the middle by operations/s; of two the slower one."""
    ordered = sorted(scheme.used, key=lambda each: (each.figures.throughput_per_s, each.run.repetition))
    return ordered[(len(ordered) - 1) // 2]


def throughput(block: Block) -> Drawing:
    """Draw operations/s over time, a panel a scheme, with bands where writes were held and marks of decisions."""
    chosen = [median_run(scheme).run for scheme in block.schemes]
    long_s = max(run.measured_s for run in chosen)
    lines = [_over_time(run) for run in chosen]
    high = max((value for line in lines for _, value in line), default=0.0)
    if block.open_loop:
        high = max(high, *(value for run in chosen for _, value in _offered(run)), 0.0)
    drawing = Drawing(
        f"{block.slug}-throughput",
        f"{block.name}: operations/s over time",
        "One panel for each scheme, the best first: operations/s of its middle repetition. Bands show where RocksDB "
        "stopped or delayed writes, ticks at the bottom where the law decided.",
        _WIDTH,
        52 + len(chosen) * (_PANEL + _GAP) + 14,
    )
    _band_legend(drawing, block.open_loop)
    x = Axis(0, long_s, _LEFT, _WIDTH - _RIGHT)
    for index, (run, line) in enumerate(zip(chosen, lines, strict=True)):
        bottom = 52 + index * (_PANEL + _GAP) + _PANEL
        y = Axis(0, high or 1, bottom, bottom - _PANEL + 16)
        drawing.left_axis(y, _LEFT, svg.ticks(high, 2), words.digits, _WIDTH - _RIGHT)
        _bands(drawing, run, x, bottom)
        if block.open_loop:
            drawing.path([(x(at), y(value)) for at, value in _offered(run)], "var(--soft)", "3 3", 1)
        _line(drawing, run, [(x(at), y(value)) for at, value in line], x, bottom)
        at_s = svg.ticks(long_s, 8) if index == len(chosen) - 1 else []
        drawing.bottom_axis(x, bottom, at_s, lambda s: f"{s:g} s", bottom - _PANEL + 16)
    return drawing


def level0(block: Block) -> Drawing:
    """Draw the files in level 0 over the measured phase and the drain after it, a panel a scheme."""
    chosen = [median_run(scheme).run for scheme in block.schemes]
    long_s = max(max((each.at_s for each in run.samples), default=run.measured_s) for run in chosen)
    high = max((each.l0_files for run in chosen for each in run.samples), default=0)
    drawing = Drawing(
        f"{block.slug}-level0",
        f"{block.name}: files in level 0 over time",
        "One panel for each scheme, the best first: files in level 0 of its middle repetition, in the measured phase "
        "and in the drain. A line shows where the clients ended, ticks at the bottom where the law decided.",
        _WIDTH,
        52 + len(chosen) * (_PANEL + _GAP) + 14,
    )
    drawing.text(_LEFT, 20, "files in level 0, in the phase and in the drain after it", kind="head")
    x = Axis(0, long_s, _LEFT, _WIDTH - _RIGHT)
    for index, run in enumerate(chosen):
        bottom = 52 + index * (_PANEL + _GAP) + _PANEL
        y = Axis(0, high or 1, bottom, bottom - _PANEL + 16)
        drawing.left_axis(y, _LEFT, svg.ticks(high or 1, 2), words.digits, _WIDTH - _RIGHT)
        drawing.line(x(run.measured_s), bottom, x(run.measured_s), bottom - _PANEL + 16, "axis")
        line = _thinned([(each.at_s, float(each.l0_files)) for each in run.samples if each.at_s >= 0])
        _line(drawing, run, [(x(at), y(value)) for at, value in line], x, bottom)
        at_s = svg.ticks(long_s, 8) if index == len(chosen) - 1 else []
        drawing.bottom_axis(x, bottom, at_s, lambda s: f"{s:g} s", bottom - _PANEL + 16)
    return drawing


def latencies(block: Block, kind: OperationKind, span: Spans) -> Drawing | None:
    """Draw latency over "how many nines"; None where this was not measured of any scheme."""
    found = [(scheme, histogram) for scheme in block.schemes if (histogram := _pooled(scheme, kind, span))]
    curves = [(scheme, curve(histogram)) for scheme, histogram in found]
    if not any(line for _, line in curves):
        return None
    since = {"total": "from the intended start", "processing": "from the call", "queueing": "until the call"}[span]
    height, top, bottom, right = 380, 40, 336, _WIDTH - 170
    drawing = Drawing(
        f"{block.slug}-{kind}-{span}",
        f"{block.name}: latency of a {kind}, {since}",
        "Latency over the share of operations that took no longer, both logarithmic, one line for each scheme; all "
        "its repetitions that count together.",
        _WIDTH,
        height,
    )
    drawing.text(_LEFT, 20, f"latency of a {kind}, {since}", kind="head")
    x = Axis(MEDIAN_NINES, 5, _LEFT, right)
    low, high = svg.around(value for _, line in curves for _, value in line)
    y = Axis(low, high, bottom, top, log=True)
    drawing.left_axis(y, _LEFT, svg.decades(low, high), words.micros, right)
    drawing.bottom_axis(x, bottom, (MEDIAN_NINES, 1, 2, 3, 4, 5), _nines, top)
    drawing.text((_LEFT + right) / 2, height - 8, "share of operations that took no longer", "middle", "soft")
    for scheme, line in curves:
        place = _place(scheme.name)
        points = [(x(_how_many_nines(fraction)), y(value)) for fraction, value in line]
        drawing.path(points, svg.colour(place), svg.dash(place), 2)
    for index, (scheme, _) in enumerate(curves):
        place, at = _place(scheme.name), top + 10 + 18 * index
        drawing.path([(right + 14, at - 4), (right + 38, at - 4)], svg.colour(place), svg.dash(place), 2)
        drawing.text(right + 44, at, scheme.name)
    return drawing


def held(block: Block) -> Drawing:
    """Draw for which share of the time writes were stopped and delayed, by cause; of the middle repetitions."""
    row, top = 26, 66
    drawing = Drawing(
        f"{block.slug}-held",
        f"{block.name}: stopped and delayed time by cause",
        "A bar for each scheme: the share of the measured phase in which RocksDB stopped writes (full colour) and "
        "delayed them (pale), by cause, in its middle repetition.",
        _WIDTH,
        top + row * len(block.schemes) + 40,
    )
    drawing.text(_LEFT, 20, "share of the time that writes were stopped (full) and delayed (pale)", kind="head")
    at = 130.0
    for cause in CAUSES:
        for opacity, condition in ((1.0, "stopped"), (0.4, "delayed")):
            drawing.box(at, 34, 12, 12, svg.colour(_CAUSE_COLOURS[cause]), opacity, f"{condition}: {cause}")
            at += 14
        drawing.text(at + 4, 45, cause.replace("_", " "))
        at += svg.text_width(cause) + 28
    runs = [median_run(scheme) for scheme in block.schemes]
    longest = max(judged.figures.stopped_share + judged.figures.delayed_share for judged in runs)
    x = Axis(0, max(longest, 0.01), 130, _WIDTH - 70)
    bottom = top + row * len(runs)
    drawing.bottom_axis(x, bottom, svg.ticks(max(longest, 0.01), 6), words.share, top - 6)
    for index, judged in enumerate(runs):
        _held_bar(drawing, judged, x, top + row * index)
    return drawing


def memory(block: Block) -> Drawing:
    """Draw operations/s over the peak of memory: a large mark for the medians, small ones for repetitions."""
    height, top, bottom, right = 360, 40, 312, _WIDTH - 130
    drawing = Drawing(
        f"{block.slug}-memory",
        f"{block.name}: operations/s over the database's peak memory",
        "One large mark for each scheme, at its median operations/s and median peak memory; small marks are its "
        "repetitions. Up and to the left is better.",
        _WIDTH,
        height,
    )
    drawing.text(_LEFT, 20, "operations/s over the database's peak memory", kind="head")
    runs = [(scheme, judged.figures) for scheme in block.schemes for judged in scheme.used]
    x = Axis(0, 1.05 * max(figures.peak_memory_bytes for _, figures in runs) / (1 << 20), _LEFT, right)
    y = Axis(0, 1.1 * max(figures.throughput_per_s for _, figures in runs) or 1, bottom, top)
    drawing.left_axis(y, _LEFT, svg.ticks(y.high, 5), words.digits, right)
    drawing.bottom_axis(x, bottom, svg.ticks(x.high, 6), lambda mib: f"{words.digits(mib)} MiB", top)
    drawing.text((_LEFT + right) / 2, height - 8, "peak resident memory", "middle", "soft")
    for scheme, figures in runs:
        place = _place(scheme.name)
        at = x(figures.peak_memory_bytes / (1 << 20)), y(figures.throughput_per_s)
        drawing.shape(*at, place // 2, svg.colour(place), 2.5, 0.6)
    taken: list[tuple[float, float, float]] = []
    for scheme in block.schemes:
        place = _place(scheme.name)
        at = (
            x(scheme.cells["peak_memory_bytes"].median / (1 << 20)),
            y(scheme.cells["throughput_per_s"].median),
        )
        drawing.shape(*at, place // 2, svg.colour(place), 5.5)
        _label(drawing, *at, scheme.name, taken)
    return drawing


def _label(drawing: Drawing, x: float, y: float, said: str, taken: list[tuple[float, float, float]]) -> None:
    """Write beside a mark, where no other label is (left, baseline, width)."""
    wide = svg.text_width(said)
    for step in range(12):
        lift = (step + 1) // 2 * (svg.FONT_PX + 1) * (-1 if step % 2 else 1)
        left, base = x + 10, y + 4 + lift
        beside = ((other, width) for other, line, width in taken if abs(base - line) < svg.FONT_PX)
        if not any(left < other + width and other < left + wide for other, width in beside):
            break
    if lift:
        drawing.line(x + 4, y, left - 2, base - 4, "axis")
    drawing.text(left, base, said)
    taken.append((left, base, wide))


def _place(name: str) -> int:
    return _KNOWN.index(name) if name in _KNOWN else len(_KNOWN) + sum(name.encode()) % 13


def _line(drawing: Drawing, run: RawRun, points: Sequence[tuple[float, float]], x: Axis, bottom: float) -> None:
    """Draw a run's panel: its line, its name, and marks where its law decided."""
    drawing.path(points, svg.colour(_place(run.scheme.name)))
    drawing.text(_LEFT, bottom - _PANEL + 10, f"{run.scheme.name}, repetition {run.repetition}", kind="head")
    _decisions(drawing, run, x, bottom)


def _over_time(run: RawRun) -> list[tuple[float, float]]:
    return _thinned([(second.at_s + 0.5, float(second.writes + second.reads)) for second in run.seconds])


def _offered(run: RawRun) -> list[tuple[float, float]]:
    return _thinned(
        [(second.at_s + 0.5, float(second.offered)) for second in run.seconds if second.offered is not None]
    )


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Put neighbours together by their mean where there are more than can be seen."""
    each = math.ceil(len(points) / _POINTS_MOST) or 1
    groups = [points[index : index + each] for index in range(0, len(points), each)]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def _bands(drawing: Drawing, run: RawRun, x: Axis, bottom: float) -> None:
    for stall in run.stalls:
        begin_s, end_s = max(stall.begin_s, 0.0), min(stall.end_s, run.measured_s)
        if stall.condition not in CONDITIONS or end_s < begin_s or stall.begin_s > run.measured_s:
            continue
        said = f"{stall.condition} for {stall.cause}, {begin_s:.1f} s to {end_s:.1f} s"
        wide = max(x(end_s) - x(begin_s), 0.6)
        drawing.box(x(begin_s), bottom - _PANEL + 16, wide, _PANEL - 16, f"var(--{stall.condition})", 0.28, said)


def _decisions(drawing: Drawing, run: RawRun, x: Axis, bottom: float) -> None:
    for place in sorted({round(x(each.at_s)) for each in run.decisions if 0 <= each.at_s <= run.measured_s}):
        drawing.line(place, bottom, place, bottom + 5, "axis")


def _band_legend(drawing: Drawing, open_loop: bool) -> None:
    drawing.text(_LEFT, 20, "operations/s over time", kind="head")
    at = _LEFT + 170.0
    for condition in CONDITIONS:
        drawing.box(at, 10, 22, 12, f"var(--{condition})", 0.28)
        drawing.text(at + 28, 20, f"writes {condition}")
        at += 140
    drawing.line(at, 12, at, 20, "axis")
    drawing.text(at + 8, 20, "a decision")
    if open_loop:
        drawing.path([(at + 90, 16), (at + 114, 16)], "var(--soft)", "3 3", 1)
        drawing.text(at + 120, 20, "offered")


def _held_bar(drawing: Drawing, judged: Judged, x: Axis, top: float) -> None:
    figures, phase_s = judged.figures, judged.run.phase_s
    drawing.text(122, top + 14, judged.run.scheme.name, "end")
    at = 0.0
    for condition in CONDITIONS:
        for cause, seconds in figures.held_s[condition].items():
            share = seconds / phase_s
            said = f"{condition} for {cause}: {words.share(share)}"
            fill = svg.colour(_CAUSE_COLOURS.get(cause, _CAUSE_COLOURS["other"]))
            wide = x(at + share) - x(at)
            drawing.box(x(at), top, wide, 18, fill, 1 if condition == "stopped" else 0.4, said)
            at += share
    drawing.text(x(at) + 6, top + 14, words.share(at), kind="soft")


def _pooled(scheme: SchemeSummary, kind: OperationKind, span: Spans) -> LatencyHistogram | None:
    found = [each for judged in scheme.used for each in judged.run.operations if each.kind == kind and asked_for(each)]
    return merged(getattr(each, span) for each in found)


def _how_many_nines(fraction: float) -> float:
    return -math.log10(1 - fraction) if fraction < 1 else 5.0


def _nines(count: float) -> str:
    return f"{100 - 100 / 10**count:.10g} %"

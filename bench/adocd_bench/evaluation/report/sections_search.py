"""The report's sections of what was searched for before the runs: the grids, and the rates that last."""

from collections.abc import Iterable, Mapping, Sequence

from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.comparison import cell
from adocd_bench.evaluation.report.document import Heading, Paragraph, Part, Table
from adocd_bench.evaluation.search.halving import Searched, TriedOptions
from adocd_bench.evaluation.search.sustained import Search


def grid_parts(grids: Sequence[Searched]) -> list[Part]:
    """Write every configuration of each grid with its scores; nothing where there is none."""
    if not grids:
        return []
    parts: list[Part] = [
        Heading(2, "What the grid tried"),
        Paragraph(
            "Successive halving: all configurations run for a short time, the best third of them for longer, and what "
            "is best in the last rung is the scheme grid-best. All stay within the memory that ADOC may come to."
        ),
    ]
    for grid in grids:
        parts.append(_grid(grid))
        parts += [Paragraph(f"Not run: {name} ({why}).") for name, why in (grid.failed or {}).items()]
    return parts


def _grid(searched: Searched) -> Table:
    grid = searched.grid
    rungs = sorted({each.seconds for each in searched.tried})
    configurations = dict.fromkeys((each.threads, each.batch_bytes) for each in searched.tried)
    rows = []
    for threads, batch_bytes in configurations:
        found = {each.seconds: each for seconds in rungs if (each := searched.found(threads, batch_bytes, seconds))}
        last = max(found)
        cells = [_scored(found[seconds]) if seconds in found else "" for seconds in rungs]
        rows.append(((-last, -found[last].score), (str(threads), words.size(batch_bytes), *cells)))
    scored = "p99 latency" if any(each.score < 0 for each in searched.tried) else "operations/s"
    head = ("threads", "batch", *(f"{scored}, {seconds} s" for seconds in rungs))
    command = (
        f"adocd bench grid --profile {grid.profile} --workload {grid.workload} --seconds {searched.seconds} "
        f"--threads {_joined(grid.threads)} --batch {_joined(grid.batches_mib)} --scale {searched.scale} --out DIR"
    )
    title = f"The grid for {grid.block}, {searched.seconds} s, the best first"
    return Table(title, head, tuple(row for _, row in sorted(rows)), words=0, command=command)


def _scored(tried: TriedOptions) -> str:
    return words.micros(-tried.score) if tried.score < 0 else words.digits(tried.score)


def _joined(numbers: Sequence[int]) -> str:
    return ",".join(str(number) for number in numbers)


def sustained_parts(searches: Mapping[str, Search], unlike_maximum: Sequence[str] = ()) -> list[Part]:
    """Write which rate lasts under each scheme; nothing where none was searched for."""
    told = [_unlike(unlike_maximum)] if unlike_maximum else []
    if not searches:
        return [Heading(2, "The maximum"), *told] if told else []
    rows = [
        (
            name,
            words.digits(search.maximum_per_s),
            *_lasting(search),
            *_left(search),
            "none" if search.fails_per_s is None else words.digits(search.fails_per_s),
            _runs(search),
            words.span(search.seconds),
            f"1/{search.scale}",
        )
        for name, search in searches.items()
    ]
    head = (
        "block and scheme",
        "maximum, operations/s",
        "highest that lasts",
        "of the maximum",
        "left there in level 0, files",
        "left there, pending bytes",
        "lowest that does not",
        "runs",
        "each of them",
        "scale",
    )
    every = searches.values()
    command = (
        f"adocd bench sustainable --scheme S --profile P --seconds {_alike(each.seconds for each in every)} "
        f"--scale {_alike(each.scale for each in every)} --at-once {_alike(each.at_once for each in every)} --out DIR"
    )
    unfinished = {name: search.failed or "interrupted" for name, search in searches.items() if search.next_trial}
    return [
        Heading(2, "What lasts"),
        Paragraph(
            "The maximum is the default's in a closed loop, the median of five testing phases. A rate lasts where all "
            "operations were started and 99 % of them ended within a second of their arrival. The search begins at "
            "95 % of the maximum, goes up while nothing fails, at most to four times the maximum, and then bisects. A "
            "rate that was tried in a run that others disturbed is tried once more, and so are the two ends; where two "
            'runs of a rate disagree, it does not last. "At least" says that no rate failed.'
        ),
        Paragraph(
            "None of these runs is drained: what a law has left in level 0 at its highest rate is not paid for, and "
            "only drained runs show what that costs. RocksDB's estimate of pending bytes lacks level 0 below its "
            "trigger, which a law may have raised, so the files stand beside it."
        ),
        Table("Rates that last", head, tuple(rows), command=command),
        *told,
        *(Paragraph(f"Not finished: {name} ({why}).") for name, why in unfinished.items()),
    ]


def _alike(numbers: Iterable[int]) -> str:
    """Write the number that all have, or N."""
    different = set(numbers)
    return str(different.pop()) if len(different) == 1 else "N"


def _unlike(unlike_maximum: Sequence[str]) -> Paragraph:
    """Say which runs take the maximum of another machine, kernel, program or code for their own."""
    return Paragraph(
        "Rates are shares of a maximum. Where that was measured under other circumstances, 95 % of it need not be "
        f"95 % of what was possible when they ran: {'; '.join(unlike_maximum)}."
    )


def _lasting(search: Search) -> tuple[str, str]:
    """Write the highest rate that lasts, and its share of the maximum."""
    if not search.lasts_per_s:
        return "none of those tried", ""
    least = "at least " if search.fails_per_s is None else ""
    return f"{least}{words.digits(search.lasts_per_s)}", f"{least}{words.share(search.share)}"


def _left(search: Search) -> tuple[str, str]:
    """Write what the runs at the highest rate left at their end."""
    if not search.lasts_per_s:
        return "", ""
    files = [each.l0_files for each in search.lasting if each.l0_files is not None]
    pending = [each.pending_compaction_bytes for each in search.lasting if each.pending_compaction_bytes is not None]
    return words.cell("count", cell(files)), words.cell("bytes", cell(pending))


def _runs(search: Search) -> str:
    disturbed = sum(bool(each.disturbed) for each in search.tested)
    return f"{len(search.tested)}, {disturbed} of them disturbed" if disturbed else str(len(search.tested))

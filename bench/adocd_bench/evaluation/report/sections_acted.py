"""What the laws did in a block, run by run."""

from collections.abc import Iterable

from adocd.model.knob import KNOBS, Knob
from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.acting import Acted, Fired, KnobMoved
from adocd_bench.evaluation.report.document import Part, Table
from adocd_bench.evaluation.report.summary import Block, Judged

_FIXED = "fixed"


def acted_parts(block: Block, command: str) -> list[Part]:
    """Write a table with a row for each run that had a law, or RocksDB's own tuning."""
    rows = [
        (scheme.name, str(judged.run.repetition), *_row(judged))
        for scheme in block.schemes
        for judged in scheme.runs
        if judged.run.scheme.policy != _FIXED or judged.run.scheme.auto_tuned
    ]
    head = ("scheme", "repetition", "under control", "applied in the phase", "knobs moved", "only before or after it")
    return (
        [Table("What the laws did in the measured phase", head, tuple(rows), words=6, command=command)] if rows else []
    )


def _row(judged: Judged) -> tuple[str, ...]:
    acted = judged.figures.acted
    here = {each.rule for each in acted.of("phase")}
    return (
        words.share(acted.controlled_share),
        ", ".join(f"{each.rule} {_times(each)}" for each in acted.of("phase")) or "nothing",
        "; ".join(_knob(each, acted) for each in acted.knobs) or "none",
        _outside(acted, here),
    )


def _outside(acted: Acted, here: Iterable[str]) -> str:
    """Name what was applied outside the phase, and nothing of it within."""
    others = [each for when in ("before", "after") for each in acted.of(when) if each.rule not in here]
    return ", ".join(f"{each.rule} {each.when} it {_times(each)}" for each in others)


def _times(fired: Fired) -> str:
    spans = _moments(fired.first_s, fired.last_s)
    return f"({spans})" if fired.count == 1 else f"{fired.count} times ({spans})"


def _moments(first_s: float, last_s: float) -> str:
    first, last = f"{first_s:.1f}", f"{last_s:.1f}"
    return f"{first} s" if first == last else f"{first} to {last} s"


def _knob(moved: KnobMoved, acted: Acted) -> str:
    knob = Knob(moved.knob.rpartition(".")[2])
    share = f"away for {words.share(acted.away_share(moved.knob))}" if moved.away_s else "not away"
    held = f"{_value(knob, moved.at_end)} throughout" if moved.at_begin == moved.at_end else ""
    if moved.first_s is None or moved.last_s is None:
        return f"{moved.knob} {held or _value(knob, moved.at_end)}, {share}"
    values = f"{_value(knob, moved.at_begin)} to {_value(knob, moved.at_end)}"
    if moved.moves > 1 and (moved.low, moved.high) != tuple(sorted((moved.at_begin or 0, moved.at_end or 0))):
        values += f", between {_value(knob, moved.low)} and {_value(knob, moved.high)}"
    times = words.counted(moved.moves, "change")
    return f"{moved.knob} {values} ({times}, {_moments(moved.first_s, moved.last_s)}), {share}"


def _value(knob: Knob, value: int | None) -> str:
    if value is None:
        return "not recorded"
    unit = KNOBS[knob].unit
    if unit == "switch":
        return "on" if value else "off"
    if unit == "bytes":
        return words.size(value)
    return words.rate(value) if unit == "bytes/s" else f"{value:,}"

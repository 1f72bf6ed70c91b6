"""How `top` fills a terminal: lines are cut to its width, and there are no more of them than it has rows."""

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from adocd.api import sentences
from adocd.api.latency_in_words import write_latency
from adocd.cli.show import known, percent, policy_in_words, program_in_words, rate
from adocd.cli.terminal import clock
from adocd.cli.top import over_time, words
from adocd.cli.top.feed import Frame
from adocd.model.in_words import option_value, size, span
from adocd.model.printable import printable

#: How long (s) the screen says that the daemon answers again.
_BACK_S = 30.0
_LINES_A_TARGET = 2
#: Lines that belong to no target: the head, the column names, and the foot.
_AROUND = 5
_LABEL = 11
#: Most columns of a graph, and most decisions listed.
_COLUMNS, _DECISIONS = 120, 20
#: Most problems of sockets listed on a terminal: a fleet can have hundreds, and the databases must still be seen.
_PROBLEMS = 3
#: The two ends of the time axis.
_BEGIN, _END = f"{over_time.SPAN_S / 60:.0f} min ago", "now"
PANIC = "adocctl restore --all"


class Screen:
    """One frame, drawn in the width and height that the terminal has at that moment."""

    def __init__(self, frame: Frame, place: str, *, live: bool, height: int | None = None) -> None:
        self._frame, self._place, self._live, self._height = frame, place, live, height

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the frame; text from other programs is made printable."""
        width = options.max_width

        body = list(_body(self._frame, width))
        height = self._height if self._height is not None else (options.max_height if self._live else None)
        most = None if height is None else _PROBLEMS
        head = [line for each in _head(self._frame, self._place, most) for line in _folded(each, console, width)]
        foot = list(_foot(self._frame, live=self._live))
        if height is not None:
            head = head[: max(0, height - len(foot))]
            room = max(0, height - len(head) - len(foot))
            if len(self._frame.targets) == 1:  # its decisions come last, newest first, so the oldest are cut
                body = body[:room]
            elif len(body) > room:
                body = [
                    *body[: max(0, room - 1)],
                    Text("... the rest does not fit: make the terminal higher", style="dim"),
                ][:room]
            body += [Text()] * (room - len(body))
        lines = [*head, *body, *foot]
        for number, line in enumerate(lines):
            shown = Text.assemble(line)
            shown.plain = printable(shown.plain)
            shown.truncate(width, overflow="ellipsis")
            yield from shown.render(console)
            if number + 1 < len(lines) or not self._live:
                yield from Text("\n").render(console)


def _folded(line: Text, console: Console, width: int, most: int = 3) -> list[Text]:
    """Wrap a line that must not be cut, such as a problem's sentence, to at most `most` lines."""
    return list(line.wrap(console, width))[:most]


def fits(height: int) -> int:
    """Return how many targets fit on a terminal with this many lines."""
    return max(1, (height - _AROUND) // _LINES_A_TARGET)


def _head(frame: Frame, place: str, most_problems: int | None) -> Iterable[Text]:
    open_ = [t for t in frame.targets if t["state"] != "closed"]
    stalled = sum(1 for t in open_ if (t["stall"] or {}).get("condition", t["condition"]) not in (None, "normal"))
    told = f"{len(open_)} open, {stalled} stalled" if frame.unix_s else "no answer yet"
    yield Text.assemble(("adocd", "bold"), f" at {place}  ", clock(frame.unix_s) if frame.unix_s else "", f"  {told}")
    if frame.problem is not None:
        since = "" if frame.problem_since_unix_s is None else f" since {clock(frame.problem_since_unix_s)}"
        yield Text(f"NO {'ANSWER' if frame.is_there else 'DAEMON'}{since}: {frame.problem}", style="bold red")
        below = f"; what follows is from {clock(frame.unix_s)}" if frame.unix_s else ""
        undone = "" if frame.is_there else "; their agents undo the changes"
        yield Text(f"Asking again at each refresh{below}. Databases keep running{undone}.")
    elif frame.back_unix_s is not None and frame.unix_s - frame.back_unix_s < _BACK_S:
        yield Text(f"The daemon has answered again since {clock(frame.back_unix_s)}.", style="green")
    if frame.journal is not None and frame.journal["problem"]:
        yield Text(sentences.journal_problem(frame.journal["problem"]), style="bold red")
    for where, problem in list(frame.problems.items())[:most_problems]:
        yield Text(problem if problem.startswith(where) else f"{where}: {problem}", style="yellow")
    if most_problems is not None and (more := len(frame.problems) - most_problems) > 0:
        yield Text(f"{more} more like this: adocctl targets lists all", style="yellow")


def _foot(frame: Frame, *, live: bool) -> Iterable[Text]:
    if live:
        one = "" if len(frame.targets) == 1 else "   one database: adocctl top PATH"
        yield Text(f"q quits   stop everything: {PANIC}   why: adocctl explain{one}", style="reverse")


def _body(frame: Frame, width: int) -> Iterable[Text]:
    if not frame.targets:
        if frame.problem is None:
            yield Text(
                "No database to show. Start a program by: adocd exec -- PROGRAM; adocctl doctor finds what is wrong."
            )
        return
    if len(frame.targets) == 1:
        target = frame.targets[0]
        yield from _one(frame, frame.details.get(target["id"]) or target, width)
        return
    yield Text(f"{'writes are':<26}{'writes/s':>12}{'waited':>9}  database", style="bold")
    shown = [t for t in frame.targets if t["id"] in frame.details]
    for target in shown:
        yield from _row(frame.details[target["id"]])
    if more := len(frame.targets) - len(shown):
        yield Text(f"{more} more: adocctl targets lists all", style="dim")


def _row(t: dict[str, Any]) -> Iterable[Text]:
    how, style = words.held(t)
    sample = (t["state"] == "attached" and t["sample"]) or {}
    yield Text.assemble(
        (f"{how:<26.26}", style), f"{rate(t['writes_per_s']):>12}",
        f"{percent(sample.get('waited_fraction')):>9}  ", (_end_of(t["path"]), "bold"),
    )  # fmt: skip
    last = t["last_decision"]
    decided = f"; {clock(last['unix_s'])} {last['rule']}: {last['outcome']}" if last else "; no decisions yet"
    yield Text(f"  {policy_in_words(t)}: {words.knobs(t)}{decided}", style="dim")


def _end_of(path: str, most: int = 60) -> str:
    return path if len(path) <= most else f"…{path[1 - most :]}"


def _line(label: str, *parts: str | Text | tuple[str, str]) -> Text:
    return Text.assemble((f"{label:<{_LABEL}}", "bold"), *parts)


def _sentence(label: str, said: Text, width: int, most: int = 2) -> Iterable[Text]:
    """Wrap a sentence to at most `most` lines."""
    said.plain = printable(said.plain)
    lines = list(said.wrap(Console(width=width), max(20, width - _LABEL)))
    if len(lines) > most:
        lines[most - 1].append(" …")
    for number, line in enumerate(lines[:most]):
        yield _line(label if number == 0 else "", line)


def _one(frame: Frame, t: dict[str, Any], width: int) -> Iterable[Text]:
    process = t["process"]
    program = "" if process is None else f"  {program_in_words(process)}, RocksDB {process['rocksdb_version']}"
    yield Text.assemble((t["path"], "bold"), program)
    yield _line("policy", policy_in_words(t))
    if t["paused"]:
        yield from _sentence("paused", Text(t["paused"], style="bold yellow"), width)
    for pin in frame.overrides:
        yield from _sentence("pinned", Text(words.pin(pin)), width)
    how, style = words.held(t)
    since = ""
    if t["stall"] and t["state"] != "closed":
        since = f" for {span(frame.unix_s - t['stall']['since_unix_s'])}: {words.why(t['stall'])}"
    yield from _sentence("writes are", Text.assemble((how, style), since), width)
    if t.get("sample"):
        if (old := sentences.old_figures(t)) is not None:
            yield Text(old, style="yellow")
        yield from _figures(frame, t, width)
    yield from _sentence("last cycle", Text(t["sentence"]), width)
    if "options" in t:
        yield from _sentence("knobs", Text(words.knobs(t)), width)
        if t["restore"] and t["restore"]["state"] in ("running", "waiting"):
            yield _line("restore", (sentences.steps_left(t["restore"]), "yellow"))
    yield Text()
    yield from _decided(frame)


def _figures(frame: Frame, t: dict[str, Any], width: int) -> Iterable[Text]:
    sample = t["sample"]
    label, figure = _LABEL, 25
    columns = max(1, min(_COLUMNS, width - label - figure - 1))
    slots = over_time.slots(frame.points, frame.unix_s, columns)

    def line(values: list[float | None], top: float | None = None) -> tuple[str, str]:
        return words.sparkline(values, top), "cyan"

    worst = _worst(sample["column_families"])
    yield _line("writes/s", f"{rate(sample['writes_per_s']):<{figure}}", line(over_time.mean(slots, "writes_per_s")))
    held = f"stop {percent(sample['stopped_fraction'])}, slow {percent(sample['delayed_fraction'])}"
    waited = f"{percent(sample['waited_fraction'])} ({held})"
    yield _line("waited", f"{waited:<{figure}.{figure}}", (words.sparkline(over_time.most(slots, _held), 1.0), "red"))
    yield from _sentence("latency", Text(write_latency(sample.get("write_latency"))), width)
    marks = over_time.marks([record["unix_s"] for record in frame.decisions], frame.unix_s, columns)
    if "^" in marks:
        yield _line("decided", f"{'':<{figure}}", (marks, "magenta"))
    if worst is not None:
        options = worst["options"]
        slow, stop = options["level0_slowdown_writes_trigger"], options["level0_stop_writes_trigger"]
        l0 = f"{known(worst['l0_files'])} (slow {_trigger(slow)}, stop {_trigger(stop)})"
        yield _line(
            "L0 files", f"{l0:<{figure}.{figure}}", line(over_time.most(slots, itemgetter("l0_files")), float(stop))
        )
        soft = options["soft_pending_compaction_bytes_limit"]
        now = _total(sample["column_families"], "pending_compaction_bytes")
        limit = f" (slow {size(soft)})" if soft else ""
        yield _line(
            "pending",
            f"{size(now) + limit:<{figure}.{figure}}",
            line(over_time.most(slots, itemgetter("pending_compaction_bytes"))),
        )
        most = float(options["max_write_buffer_number"])
        memtables = f"{known(worst['immutable_memtables'])} full of {options['max_write_buffer_number']}"
        yield _line(
            "memtables", f"{memtables:<{figure}}", line(over_time.most(slots, itemgetter("immutable_memtables")), most)
        )
    if frame.points and columns >= len(_BEGIN) + len(_END):
        yield _line("", f"{'':<{figure}}", (f"{_BEGIN}{_END:>{columns - len(_BEGIN)}}", "dim"))
    if t["around"]:
        yield from _sentence("around it", Text(t["around"]), width)


def _held(point: over_time.Point) -> float | None:
    """Return the share of time in which writes were stopped or delayed, 0 to 1; None if it is not known."""
    known = [point[name] for name in ("stopped_fraction", "delayed_fraction") if point[name] is not None]
    return min(1.0, sum(known)) if known else None


def _worst(families: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the column family that is closest to a write stop."""
    return max(
        families,
        key=lambda cf: (
            (cf["l0_files"] or 0) / max(1, cf["options"]["level0_stop_writes_trigger"])
            + (cf["immutable_memtables"] or 0) / max(1, cf["options"]["max_write_buffer_number"])
        ),
        default=None,
    )


def _decided(frame: Frame) -> Iterable[Text]:
    if not frame.decisions:
        yield Text(sentences.NO_DECISIONS, style="dim")
        return
    yield Text("last decisions, newest first: rule, what it set, outcome; signal", style="bold")
    for record in reversed(frame.decisions[-_DECISIONS:]):
        outcome = record["outcome"]
        style = "green" if outcome.startswith("applied") else "yellow" if outcome in ("in-flight", "dry-run") else "red"
        yield Text.assemble(
            f"{clock(record['unix_s'])} {record['rule']}: {words.set_by(record)}: ",
            (outcome, "" if outcome == "unchanged" else style),
            (f"  {record['signal']}", "dim"),
        )  # fmt: skip


def _total(families: list[dict[str, Any]], name: str) -> float | None:
    known = [cf[name] for cf in families if cf[name] is not None]
    return sum(known) if known else None


def _trigger(value: int) -> str:
    return option_value("level0_stop_writes_trigger", str(value))

"""How the demo looks: a live picture in a terminal, plain lines elsewhere, a table at the end."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from adocd.model.in_words import size
from adocd_bench.demo.chart import CONDITION_STYLE, columns, draw, marks
from adocd_bench.demo.figures import DecisionNote, HalfFigures, decision_note
from adocd_bench.demo.half import HalfProgress
from adocd_bench.demo.words import as_intended, settings_text

_CHART_HEIGHT = 4
_AXIS_WIDTH = 8
_FRAME_WIDTH = 6
_PLAIN_EVERY_S = 5.0
_MEANING = {
    "fixed": "the daemon watches and changes nothing",
    "adoc": "the daemon turns threads and batch size live",
}


class DemoView(Protocol):
    """Where a run's progress goes."""

    def show(self, progress: HalfProgress) -> None:
        """Take note of a half's progress."""

    def finish(self, figures: HalfFigures) -> None:
        """Take note of a half's result."""


class LiveView:
    """Both halves one below the other, on the same scales of time and writes."""

    def __init__(self, title: str) -> None:
        """Take the line that says what is run."""
        self.title = title
        self._halves: dict[str, HalfProgress] = {}
        self._figures: dict[str, HalfFigures] = {}

    def show(self, progress: HalfProgress) -> None:
        """Take note of a half's progress; the picture is redrawn by its own clock."""
        self._halves[progress.policy] = progress

    def finish(self, figures: HalfFigures) -> None:
        """Take note of a half's result, which takes the place of its last sample."""
        self._figures[figures.policy] = figures

    def __rich_console__(self, console: Console, _options: object) -> Iterator[RenderableType]:
        """Draw the present state."""
        yield Text(self.title, style="bold", no_wrap=True, overflow="ellipsis")
        yield _legend()
        top = max((s.writes_per_s or 0.0 for half in self._halves.values() for s in half.samples), default=0.0)
        for half in list(self._halves.values()):
            yield half_panel(half, self._figures.get(half.policy), console.width, top)
        yield Text()  # the terminal's own echo of ^C goes here, where it cannot push the picture down


def _legend() -> Text:
    """Say what the colours of the chart mean."""
    text = Text("writes/s over time; writes are", style="dim")
    for condition, style in CONDITION_STYLE.items():
        text.append(" █ ", style).append(condition)
    return text


def half_panel(half: HalfProgress, figures: HalfFigures | None, width: int, top_writes_per_s: float) -> Panel:
    """Draw one half, with its figures once it has ended."""
    chart_width = max(width - _AXIS_WIDTH - _FRAME_WIDTH, 10)
    chart = Table.grid(padding=(0, 1))
    chart.add_column(justify="right", width=_AXIS_WIDTH, style="dim")
    chart.add_column(no_wrap=True)
    bars = columns(half.samples, half.seconds, chart_width)
    for row, line in enumerate(draw(bars, _CHART_HEIGHT, top_writes_per_s)):
        label = {0: f"{top_writes_per_s:,.0f}", _CHART_HEIGHT - 1: "0"}.get(row, "")
        chart.add_row(label, line)
    decided_s = [decision.monotonic_s for decision in half.decisions]
    chart.add_row("decided", Text(marks(decided_s, half.samples, half.seconds, chart_width), style="cyan"))
    elapsed_s = min(half.elapsed_s, half.seconds)
    return Panel(
        Group(chart, _now(half) if figures is None else _result(figures), _last_decision(half, figures is not None)),
        title=f"[bold]{half.policy}[/bold]: {_MEANING.get(half.policy, '')}",
        title_align="left",
        subtitle=f"{elapsed_s:.0f} s of {half.seconds} s",
        subtitle_align="right",
    )


def _now(half: HalfProgress) -> Text:
    """Describe the latest sample: write rate, the knobs' values, and how full the database is."""
    if not half.samples:
        return Text("starting ...", style="dim")
    sample = half.samples[-1]
    families = sample.column_families
    batch_bytes = max((family.options.write_buffer_size_bytes for family in families), default=0)
    facts = [
        f"threads {'?' if sample.background_jobs is None else sample.background_jobs}",
        f"batch {size(batch_bytes)}",
        f"L0 files {max((family.l0_files for family in families), default=0)}",
        f"immutable memtables {sum(family.immutable_memtables for family in families)}",
    ]
    text = Text(f"{sample.writes_per_s or 0:,.0f} writes/s, ", style="bold")
    text.append(sample.condition, CONDITION_STYLE[sample.condition])
    return text.append("\n" + ", ".join(facts), "not bold")


def _result(figures: HalfFigures) -> Text:
    """Say a half's result in two lines."""
    text = Text(f"{figures.writes_per_s:,.0f} writes/s on average", style="bold")
    return text.append(
        f"\nworst second {figures.worst_second_writes_per_s:,.0f}, writer waiting {figures.stalled_fraction:.1%} "
        f"of the time, decisions {len(figures.decisions)}",
        "not bold",
    )


def _last_decision(half: HalfProgress, over: bool) -> Text:
    """Say the last decision, or what the daemon says when there is none."""
    text = Text(no_wrap=True, overflow="ellipsis", style="dim")
    if half.decisions and half.samples:
        return text.append(decision_line(decision_note(half.decisions[-1], half.samples[0].monotonic_s)))
    return text.append("no decision was taken" if over else half.sentence or "no decision yet")


def decision_line(note: DecisionNote) -> str:
    """Say a decision in one line: when, by which rule, what, on which signal, and what became of it."""
    outcome = "" if as_intended(note) else f" ({note.outcome})"
    return f"after {note.after_s:.1f} s {note.rule}: {settings_text(note)}{outcome}: {note.signal}"


class PlainView:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        """Take the console the lines go to."""
        self._console = console
        self._next_s = 0.0
        self._policy = ""

    def show(self, progress: HalfProgress) -> None:
        """Print a line when one is due."""
        now_s = time.monotonic()
        if progress.policy != self._policy:
            self._policy = progress.policy
            self._console.print(f"{progress.policy}: starting", highlight=False)
            return
        if not progress.samples or now_s < self._next_s:
            return
        self._next_s = now_s + _PLAIN_EVERY_S
        head = f"{progress.policy}: {progress.elapsed_s:.0f} s of {progress.seconds} s:"
        now = ", ".join(_now(progress).plain.splitlines())
        self._console.print(f"{head} {now}", highlight=False, soft_wrap=True)

    def finish(self, figures: HalfFigures) -> None:
        """Print the half's result."""
        now = ", ".join(_result(figures).plain.splitlines())
        self._console.print(f"{figures.policy}: {now}", highlight=False, soft_wrap=True)


@contextmanager
def view(console: Console, picture: LiveView, live: bool) -> Iterator[DemoView]:
    """Show progress for as long as the context lasts: the picture live when `live`, else in plain lines."""
    if live:
        with Live(picture, console=console, refresh_per_second=4):
            yield picture
        return
    console.print(picture.title, highlight=False, soft_wrap=True)
    yield _Both(PlainView(console), picture)


class _Both:
    """Plain lines now, and the picture kept for later."""

    def __init__(self, plain: DemoView, picture: DemoView) -> None:
        self._views = (plain, picture)

    def show(self, progress: HalfProgress) -> None:
        """Take note of a half's progress."""
        for each in self._views:
            each.show(progress)

    def finish(self, figures: HalfFigures) -> None:
        """Take note of a half's result."""
        for each in self._views:
            each.finish(figures)

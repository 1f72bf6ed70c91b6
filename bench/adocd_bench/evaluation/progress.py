"""Progress of a plan: a live line in a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

from adocd.model.sample import Sample

#: A run beside its measured phase, before any has been made: daemon and program start, the drain.
BESIDE_S = 20.0


def time_text(seconds: float) -> str:
    """Write a time as one reads it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


class RunsProgress:
    """Reports progress, and estimates the remaining time from the runs already made."""

    def __init__(
        self, console: Console, runs: int, seconds: int, walls_s: Sequence[float] = (), at_once: int = 1
    ) -> None:
        self._console, self._runs, self._seconds, self._at_once = console, runs, seconds, at_once
        self._walls_s = list(walls_s)
        self._number = 0

    @property
    def left_s(self) -> float:
        """Estimate how long the rest takes, the present run included."""
        each_s = sum(self._walls_s) / len(self._walls_s) if self._walls_s else self._seconds + BESIDE_S
        left = self._runs - max(0, self._number - self._at_once)
        return each_s * max(1, left) / self._at_once  # a search may make more runs than it expects

    def say(self, line: str) -> None:
        """Tell something that stays."""
        self._console.print(escape(line), highlight=False, soft_wrap=True)

    @contextmanager
    def run(self, name: str) -> Iterator["RunLine"]:
        """Show one run while the body makes it; several at once have no live lines."""
        self._number += 1
        begun_s = time.monotonic()
        text = f"run {self._number} of {self._runs}, {name}, about {time_text(self.left_s)} left"
        if self._console.is_terminal and self._at_once == 1:
            with self._console.status(escape(text)) as status:
                yield RunLine(lambda more: status.update(escape(f"{text}: {more}")))
        else:
            self.say(text)
            yield RunLine(lambda _: None)
        self._walls_s.append(time.monotonic() - begun_s)


class RunLine:
    """The line of the run in progress."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show, self._begun_s = show, time.monotonic()

    def look(self, sample: Sample | None) -> None:
        """Tell what the daemon saw last."""
        running = f"{time.monotonic() - self._begun_s:.0f} s"
        if sample is None:
            self._show(f"{running}, starting")
            return
        files = max((cf.l0_files for cf in sample.column_families), default=0)
        writes = "" if sample.writes_per_s is None else f"{sample.writes_per_s:,.0f} writes/s, "
        self._show(f"{running}, {writes}{sample.condition}, {files} files in level 0")

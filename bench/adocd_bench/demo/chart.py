"""A bar chart of writes per second over time for the terminal, coloured by the database's condition."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from adocd.model.sample import Sample

BLOCKS = " ▁▂▃▄▅▆▇█"
MARK = "▲"
CONDITION_STYLE = {"normal": "green", "delayed": "yellow", "stopped": "red"}
_SEVERITY = {"normal": 0, "delayed": 1, "stopped": 2}


@dataclass(frozen=True)
class Column:
    """One column of the chart: a height in writes per second, None where nothing was measured yet."""

    writes_per_s: float | None = None
    condition: str = "normal"


def columns(samples: Sequence[Sample], seconds: float, width: int) -> list[Column]:
    """Spread samples over `width` columns that stand for `seconds`; a column takes the mean of its samples.

    A sample covers its measured interval, so where columns are narrower than samples several show the same one.
    """
    if not samples:
        return [Column()] * width
    start_s = samples[0].monotonic_s - samples[0].interval_s
    result = []
    for index in range(width):
        left_s, right_s = index * seconds / width, (index + 1) * seconds / width
        covering = [
            sample
            for sample in samples
            if sample.monotonic_s - start_s > left_s and sample.monotonic_s - sample.interval_s - start_s < right_s
        ]
        if covering:
            mean = sum(sample.writes_per_s or 0.0 for sample in covering) / len(covering)
            worst = max((sample.condition for sample in covering), key=_SEVERITY.__getitem__)
            result.append(Column(mean, worst))
        else:
            result.append(Column())
    return result


def marks(moments_s: Sequence[float], samples: Sequence[Sample], seconds: float, width: int) -> str:
    """Make a line under the chart with a mark at every moment, given in seconds of the samples' own clock."""
    line = [" "] * width
    start_s = samples[0].monotonic_s - samples[0].interval_s if samples else 0.0
    for moment_s in moments_s if samples else ():
        line[min(max(int((moment_s - start_s) / seconds * width), 0), width - 1)] = MARK
    return "".join(line)


def draw(bars: Sequence[Column], height: int, top_writes_per_s: float) -> list[Text]:
    """Draw the columns as `height` lines, the highest first; a measured column shows at least a foot."""
    lines = []
    for row in reversed(range(height)):
        line = Text(no_wrap=True)
        for bar in bars:
            style = "dim" if bar.writes_per_s is None else CONDITION_STYLE[bar.condition]
            line.append(_cell(bar, row, height, top_writes_per_s), style)
        lines.append(line)
    return lines


def _cell(bar: Column, row: int, height: int, top_writes_per_s: float) -> str:
    if bar.writes_per_s is None:
        return "·" if row == 0 else " "
    eighths = round(bar.writes_per_s / top_writes_per_s * height * 8) if top_writes_per_s > 0 else 0
    eighths = max(eighths, 1)
    return BLOCKS[min(max(eighths - row * 8, 0), 8)]

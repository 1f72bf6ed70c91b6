"""Small SVG drawings of our own: axes, ticks, lines and legends, readable in light and dark, without any script.

Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart, darkened or lightened to
3:1 against their background; dashes and shapes tell what has the same colour. A drawing has a title and a description
for those who do not see it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

_LIGHT = ("#0072b2", "#c44e00", "#00805f", "#b0528a", "#2b87b8", "#9a6b00", "#5a5a5a", "#7a7000")
_DARK = ("#5fb0ea", "#ff8c4a", "#35c79a", "#e59fc6", "#9ad4f5", "#f0b93a", "#c8c8c8", "#e9df6c")
_DASHES = ("", "7 4", "2 4", "9 4 2 4", "14 5", "1 4 6 4")
_LIGHT_INK = "--ink:#1b1f24;--soft:#59636e;--grid:#dde2e8;--paper:#ffffff;--stopped:#c62828;--delayed:#e08e00"
_DARK_INK = "--ink:#e6e9ed;--soft:#a3adb8;--grid:#343b44;--paper:#14181d;--stopped:#ff6b60;--delayed:#f0b93a"
FONT_PX = 12


def _colours(values: Iterable[str]) -> str:
    return ";".join(f"--c{index}:{value}" for index, value in enumerate(values))


#: What every drawing needs: once in a page, or in a file of its own.
STYLE = (
    f"svg.drawing{{{_LIGHT_INK};{_colours(_LIGHT)}}}"
    f"@media (prefers-color-scheme:dark){{svg.drawing{{{_DARK_INK};{_colours(_DARK)}}}}}"
    f"svg.drawing text{{font:{FONT_PX}px system-ui,sans-serif;fill:var(--ink)}}"
    "svg.drawing text.soft{fill:var(--soft)}svg.drawing text.head{font-weight:600}"
    "svg.drawing .grid{stroke:var(--grid);stroke-width:1}"
    "svg.drawing .axis{stroke:var(--soft);stroke-width:1}"
)


def colour(index: int) -> str:
    """Give the colour of the n-th thing that is told apart."""
    return f"var(--c{index % len(_LIGHT)})"


def dash(index: int) -> str:
    """Give the dashes of the n-th thing: other ones for each four, as the later colours are close to the first."""
    return _DASHES[index // 4 % len(_DASHES)]


def text_width(text: str) -> float:
    """Estimate how wide a text will be; generous, for fonts differ."""
    return 0.56 * FONT_PX * len(text)


def number(value: float) -> str:
    """Write a coordinate."""
    return f"{value:.1f}".removesuffix(".0")


@dataclass(frozen=True, slots=True)
class Axis:
    """Values onto pixels; logarithmic where said."""

    low: float
    high: float
    from_px: float
    to_px: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Place a value; what lies outside is put at the end."""
        low, high, at = (self._bent(each) for each in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.from_px + min(max(share, 0.0), 1.0) * (self.to_px - self.from_px)

    def _bent(self, value: float) -> float:
        return math.log10(max(value, 1e-12)) if self.log else value


@dataclass
class Drawing:
    """A picture under construction; `name` is its file's, and begins its ids."""

    name: str
    title: str
    description: str
    width: int
    height: int
    _parts: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> None:
        """Draw a straight line of a class."""
        ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
        self._parts.append(f'<line class="{kind}" {ends}/>')

    def path(self, points: Sequence[tuple[float, float]], stroke: str, dashes: str = "", width: float = 1.6) -> None:
        """Draw through points; a point may stand alone."""
        if not points:
            return
        where = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(
            f'<polyline points="{where}" fill="none" stroke="{stroke}" stroke-width="{width}"{dashed} '
            'stroke-linejoin="round" stroke-linecap="round"/>'
        )

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, opacity: float = 1, said: str = ""
    ) -> None:
        """Draw a rectangle; `said` is shown when it is pointed at."""
        place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        title = f"<title>{escape(said)}</title>" if said else ""
        self._parts.append(f'<rect {place} fill="{fill}"{faint}>{title}</rect>')

    def shape(self, x: float, y: float, kind: int, fill: str, size: float = 5, opacity: float = 1) -> None:
        """Draw a marker: a circle, square, triangle or diamond by number."""
        outlines: tuple[tuple[tuple[float, float], ...], ...] = (
            (),
            ((-1, -1), (1, -1), (1, 1), (-1, 1)),
            ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
            ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        )
        outline = outlines[kind % len(outlines)]
        faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        if not outline:
            self._parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{size:g}" fill="{fill}"{faint}/>')
            return
        points = " ".join(f"{number(x + size * dx)},{number(y + size * dy)}" for dx, dy in outline)
        self._parts.append(f'<polygon points="{points}" fill="{fill}"{faint}/>')

    def text(self, x: float, y: float, said: str, anchor: str = "start", kind: str = "") -> None:
        """Write."""
        named = f' class="{kind}"' if kind else ""
        self._parts.append(f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"{named}>{escape(said)}</text>')

    def bottom_axis(
        self, axis: Axis, y: float, ticks: Sequence[float], said: Callable[[float], str], top: float
    ) -> None:
        """Draw a horizontal axis with its grid up to `top`."""
        self.line(axis.from_px, y, axis.to_px, y, "axis")
        for tick in ticks:
            self.line(axis(tick), top, axis(tick), y)
            self.text(axis(tick), y + FONT_PX + 4, said(tick), "middle", "soft")

    def left_axis(
        self, axis: Axis, x: float, ticks: Sequence[float], said: Callable[[float], str], right: float
    ) -> None:
        """Draw a vertical axis with its grid up to `right`."""
        for tick in ticks:
            self.line(x, axis(tick), right, axis(tick))
            self.text(x - 6, axis(tick) + FONT_PX / 3, said(tick), "end", "soft")

    def render(self, alone: bool) -> str:
        """Write it, for a page that has `STYLE`, or for a file of its own (`alone`)."""
        ids = f"{self.name}-title {self.name}-description"
        style = f"<style>{STYLE}</style>" if alone else ""
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" aria-labelledby="{ids}">',
            f'<title id="{self.name}-title">{escape(self.title)}</title>'
            f'<desc id="{self.name}-description">{escape(self.description)}</desc>{style}',
            f'<rect width="{self.width}" height="{self.height}" fill="var(--paper)"/>',
            *self._parts,
            "</svg>",
        ])  # fmt: skip


def ticks(high: float, about: int = 4) -> list[float]:
    """Choose round values from 0 to `high`."""
    if high <= 0:
        return [0.0]
    raw = high / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    return [index * step for index in range(math.floor(high / step + 1e-9) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Give the powers of ten from `low` to `high`, both of which are powers of ten."""
    first, last = round(math.log10(low)), round(math.log10(high))
    return [10.0**power for power in range(first, last + 1)]


def around(values: Iterable[float]) -> tuple[float, float]:
    """Give the powers of ten between which all values lie; at least one decade."""
    known = [value for value in values if value > 0] or [1.0]
    low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
    return 10.0**low, 10.0 ** max(high, low + 1)

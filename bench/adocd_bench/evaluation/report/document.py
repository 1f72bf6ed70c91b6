"""A report as parts in an order, which both Markdown and HTML are written from. Text may have `code` in backquotes."""

from collections.abc import Sequence
from dataclasses import dataclass

from adocd_bench.evaluation.report.svg import Drawing


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 (the document's) to 4."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first `words` columns are text, the others figures. `command` is what measures it anew."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    command: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing."""

    drawing: Drawing


Part = Heading | Paragraph | Items | Table | Picture


@dataclass(frozen=True, slots=True)
class Document:
    """The whole report."""

    title: str
    parts: Sequence[Part]

    @property
    def drawings(self) -> list[Drawing]:
        """All its drawings."""
        return [part.drawing for part in self.parts if isinstance(part, Picture)]

"""Tables and styled text on the terminal: foreign names cannot send escape sequences or imitate our lines."""

import os
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from adocd.model.printable import printable_lines

#: Width in a pipe: wide enough that each row stays one line, for programs that read it.
PIPE_COLUMNS = 10_000


def is_screen() -> bool:
    """Whether a person sees the output; it may be closed, too (>&-)."""
    return sys.stdout is not None and sys.stdout.isatty()


def columns() -> int | None:
    """Return the width for tables: the terminal's or $COLUMNS, else the width of a pipe."""
    return None if is_screen() or "COLUMNS" in os.environ else PIPE_COLUMNS


class Terminal(Console):
    """A console that prints text literally: brackets in a path are not markup, and escape sequences have no effect.

    The layout itself needs line ends, so `show.json_or` removes those in foreign text first.
    """

    def __init__(self, **more: Any) -> None:
        super().__init__(**({"highlight": False, "markup": False, "soft_wrap": True} | more))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render it, and leave what Rich itself has to say to the terminal."""
        for segment in super().render(renderable, options):
            if segment.control is None and not segment.text.isprintable():
                yield Segment(printable_lines(segment.text), segment.style)
            else:
                yield segment

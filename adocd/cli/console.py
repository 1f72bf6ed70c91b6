"""Tables and styled text on the terminal: nothing that others have named steers it, or looks like a line of ours."""

import os
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from adocd.model.printable import printable_lines

#: What reads us in a pipe gets a line for each row, as long as it is.
PIPE_COLUMNS = 10_000


def columns() -> int | None:
    """Say how wide tables may be: as wide as the terminal, or $COLUMNS, where there is one of these."""
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_COLUMNS


class Terminal(Console):
    """A console whose text is text: a path with brackets is no markup, and one with an escape sequence none either.

    Ends of lines are the layout's here, so those in others' words have to be taken out before: by `show.json_or`.
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

"""A report as Markdown; its pictures are files beside it."""

import re

from adocd_bench.evaluation.report.document import Document, Heading, Items, Paragraph, Part, Picture, Table

#: Where the pictures are, from the report.
PICTURES = "pictures"
_CODE = re.compile(r"(`[^`]*`)")
_MEANS_SOMETHING = re.compile(r"([\\*<|~\[\]]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def render(document: Document) -> str:
    """Write the report."""
    return "\n\n".join(_part(part) for part in document.parts) + "\n"


def _part(part: Part) -> str:
    match part:
        case Heading(level, text):
            return f"{'#' * level} {_text(text)}"
        case Paragraph(text):
            return _text(text)
        case Items(items):
            return "\n".join(f"- {_text(item)}" for item in items)
        case Picture(drawing):
            return f"![{_text(drawing.title)}]({PICTURES}/{drawing.name}.svg)"
        case Table():
            return _table(part)


def _table(table: Table) -> str:
    aligned = ["---" if index < table.words else "---:" for index in range(len(table.head))]
    lines = [_row(table.head), f"|{'|'.join(aligned)}|", *(_row(row) for row in table.rows)]
    command = f"\n\nBy `{table.command}`." if table.command else ""
    return f"**{_text(table.title)}**\n\n" + "\n".join(lines) + command


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(_text(cell) for cell in cells)} |"


def _text(text: str) -> str:
    """Keep what is text from meaning something in Markdown; code is left as it is, but for a table's bars."""
    return "".join(
        part.replace("|", "\\|") if part.startswith("`") else _MEANS_SOMETHING.sub(r"\\\1", part)
        for part in _CODE.split(text)
    )

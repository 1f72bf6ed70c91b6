"""A report as one HTML file: no script, nothing from elsewhere, light and dark as the reader has it."""

import re
from html import escape

from adocd_bench.evaluation.report import svg
from adocd_bench.evaluation.report.document import Document, Heading, Items, Paragraph, Part, Picture, Table

_CODE = re.compile(r"(`[^`]*`)")
#: A cell's spread stands below its median, or tables would be wider than any page.
_SPREAD = re.compile(r"^([^()]*) \(([^()]+ \.\. [^()]+)\)$")
_STYLE = """
:root{color-scheme:light dark;
--ink:#1b1f24;--soft:#59636e;--line:#d5dae0;--paper:#ffffff;--shade:#f4f6f8;--link:#0060a8}
@media (prefers-color-scheme:dark){
:root{--ink:#e6e9ed;--soft:#a3adb8;--line:#343b44;--paper:#14181d;--shade:#1c2229;--link:#79bdf2}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:26px;line-height:1.25;margin:8px 0 16px}
h2{font-size:20px;margin:44px 0 10px;padding-top:18px;border-top:1px solid var(--line)}
h3{font-size:16px;margin:28px 0 8px}
p,ul{max-width:88ch;margin:8px 0}
a{color:var(--link)}
nav ul{columns:2;padding-left:18px}
code{font:13px ui-monospace,monospace;background:var(--shade);padding:1px 4px;border-radius:3px;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:14px 0 4px;border:1px solid var(--line);border-radius:6px}
.scroll:focus-visible{outline:2px solid var(--link)}
table{border-collapse:collapse;width:100%;font-size:13px}
caption{text-align:left;font-weight:600;font-size:14px;padding:8px 10px}
th,td{padding:5px 10px;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
thead th{background:var(--shade);color:var(--soft);font-weight:600;vertical-align:bottom}
tbody th{font-weight:600;white-space:nowrap}
table.prose th{white-space:normal}
.n{text-align:right;font-variant-numeric:tabular-nums}
td.n{white-space:nowrap}
td.w{min-width:5em}
small{display:block;color:var(--soft);font-size:11.5px}
.by{color:var(--soft);font-size:13px;margin:4px 0 18px;max-width:none}
figure{margin:18px 0;overflow-x:auto;border:1px solid var(--line);border-radius:6px;padding:6px}
figure svg{display:block;width:100%;max-width:1000px;height:auto;min-width:620px;margin:0 auto}
"""


def render(document: Document) -> str:
    """Write the report."""
    body = "\n".join(_part(part) for part in document.parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(document.title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{_STYLE}{svg.STYLE}</style>\n</head>\n<body>\n<main>\n{_with_contents(document, body)}\n"
        "</main>\n</body>\n</html>\n"
    )


def _with_contents(document: Document, body: str) -> str:
    """Put the contents after the document's own heading."""
    head, end, rest = body.partition("</h1>")
    links = "".join(
        f'<li><a href="#{_anchor(part.text)}">{_text(part.text)}</a></li>'
        for part in document.parts
        if isinstance(part, Heading) and part.level == 2
    )
    return f'{head}{end}\n<nav aria-label="Contents"><ul>{links}</ul></nav>{rest}'


def _part(part: Part) -> str:
    match part:
        case Heading(level, text):
            return f'<h{level} id="{_anchor(text)}">{_text(text)}</h{level}>'
        case Paragraph(text):
            return f"<p>{_text(text)}</p>"
        case Items(items):
            return f"<ul>{''.join(f'<li>{_text(item)}</li>' for item in items)}</ul>"
        case Picture(drawing):
            return f"<figure>{drawing.render(alone=False)}</figure>"
        case Table():
            return _table(part)


def _table(table: Table) -> str:
    head = "".join(
        f'<th scope="col"{_class(index, table.words)}>{_text(said)}</th>' for index, said in enumerate(table.head)
    )
    rows = "\n".join(f"<tr>{_cells(row, table.words)}</tr>" for row in table.rows)
    # A table that is wider than the page is scrolled, by keys, too.
    frame = f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(table.title)}">'
    prose = ' class="prose"' if table.words == len(table.head) else ""
    command = f'<p class="by">By <code>{escape(table.command)}</code></p>' if table.command else ""
    return (
        f"{frame}<table{prose}><caption>{_text(table.title)}</caption><thead><tr>{head}</tr></thead>\n"
        f"<tbody>{rows}</tbody></table></div>{command}"
    )


def _cells(row: tuple[str, ...], words: int) -> str:
    first, *others = row
    cells = "".join(f"<td{_class(index, words)}>{_text(said)}</td>" for index, said in enumerate(others, 1))
    return f'<th scope="row">{_text(first)}</th>{cells}'


def _class(index: int, words: int) -> str:
    if index == 0:
        return ""
    return ' class="w"' if index < words else ' class="n"'


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _text(text: str) -> str:
    return "".join(
        f"<code>{escape(part[1:-1])}</code>"
        if part.startswith("`") and len(part) > 1
        else _SPREAD.sub(r"\1 <small>\2</small>", escape(part))
        for part in _CODE.split(text)
    )

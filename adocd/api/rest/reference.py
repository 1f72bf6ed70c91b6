"""The OpenAPI document for people: one page without scripts, which loads nothing from other hosts.

The framework's own page loads its scripts from another host, and these could then do anything that the reader of the
page may do.
"""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """\
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h3 { margin: 2rem 0 .2rem; } code { font-size: .95em; overflow-wrap: anywhere; } p { margin: .3rem 0; }
table { border-collapse: collapse; margin: .5rem 0; } th, td { text-align: left; vertical-align: top;
padding: .15rem .8rem .15rem 0; } th { font-weight: 600; }"""


def page(document: Mapping[str, Any]) -> str:
    """Show every operation with its purpose, parameters and answers, as HTML."""
    info, body = document["info"], []
    for tag in document["tags"]:
        body.append(f"<h2>{escape(tag['name'])}</h2><p>{escape(tag['description'])}</p>")
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if tag["name"] in operation["tags"]:
                    body.extend(_operation(method, path, operation))
    title = f"{escape(info['title'])} REST v1"
    paragraphs = "".join(f"<p>{escape(part)}</p>" for part in info["description"].split("\n\n"))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f'<h1>{title}</h1>{paragraphs}<p>For programs: <a href="/openapi.json">openapi.json</a>.</p>'
        f"{''.join(body)}</body></html>\n"
    )


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f'<h3 id="{escape(operation["operationId"])}"><code>{method.upper()} {escape(path)}</code></h3>'
    yield f"<p><b>{escape(operation['summary'])}.</b> {escape(operation.get('description', ''))}</p>"
    takes = [(each["name"], each["in"], each.get("description", "")) for each in operation.get("parameters", ())]
    if (content := operation.get("requestBody", {}).get("content")) is not None:
        takes.append(("body", "JSON", _type_of(content)))
    yield from _table("takes", takes)
    answers = (
        (status, _type_of(answer.get("content", {})), answer["description"])
        for status, answer in sorted(operation["responses"].items())
    )
    yield from _table("answers", answers)


def _table(head: str, rows: Any) -> Iterator[str]:
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    if lines:
        yield f'<table><tr><th colspan="3">{head}</th></tr>'
        yield from (f"<tr>{line}</tr>" for line in lines)
        yield "</table>"


def _type_of(content: Mapping[str, Any]) -> str:
    """Name the type of a body: its schema in the document, else its media type."""
    for media_type, body in content.items():
        reference = body.get("schema", {}).get("$ref", "")
        return str(reference).rpartition("/")[2] or str(media_type)
    return ""

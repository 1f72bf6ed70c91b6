r"""Makes foreign text safe for terminals and logs: paths, names, reasons, anything that an agent or client sent.

Whoever names a database, or writes its LOG, may have put terminal escape sequences (ESC, and C1 controls, ECMA-48),
Unicode bidirectional controls or line breaks that forge a line of ours into the text. Every character that is neither
printable nor a space is written as Python escapes it in a string, `\x1b`, so that it is visible and harmless, and
different names stay different.
"""

from typing import Any


def printable(text: str) -> str:
    """Return the text as one harmless line."""
    return text if text.isprintable() else "".join(map(_seen, text))


def printable_lines(text: str) -> str:
    """Like `printable`, but keep line breaks, for text that is already laid out."""
    return "\n".join(map(printable, text.split("\n")))


def printable_content(content: Any) -> Any:
    """Make every string in parsed JSON printable, member names included."""
    if isinstance(content, str):
        return printable(content)
    if isinstance(content, list | tuple):
        return [printable_content(each) for each in content]
    if isinstance(content, dict):
        return {printable_content(name): printable_content(each) for name, each in content.items()}
    return content


def _seen(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")

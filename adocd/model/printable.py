r"""Words of others on terminals and in logs: paths, column families, reasons, whatever an agent or a client has said.

Whoever names a database, or writes its LOG, may have put anything into them: escape sequences of a terminal's (ESC, and
C1 controls, ECMA-48), marks that turn the direction of what follows (Unicode, bidirectional controls), and ends of
lines, behind which a line of ours can be forged. What is no printable character or space is written as Python writes it
in a string, `\x1b`, so that it is seen, does nothing, and two names stay two.
"""

from typing import Any


def printable(text: str) -> str:
    """Make one line of it that steers nothing."""
    return text if text.isprintable() else "".join(map(_seen, text))


def printable_lines(text: str) -> str:
    """Leave the ends of its lines, for what is laid out already."""
    return "\n".join(map(printable, text.split("\n")))


def printable_content(content: Any) -> Any:
    """Make every text within parsed JSON printable, the names of members too."""
    if isinstance(content, str):
        return printable(content)
    if isinstance(content, list | tuple):
        return [printable_content(each) for each in content]
    if isinstance(content, dict):
        return {printable_content(name): printable_content(each) for name, each in content.items()}
    return content


def _seen(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")

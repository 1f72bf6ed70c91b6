"""Escapes text for a browser; `adocd.model` reads and formats figures."""

from html import escape


def text(words: object) -> str:
    """Escape text for HTML: names from elsewhere must not become markup."""
    return escape(str(words))

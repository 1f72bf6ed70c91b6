"""Escapes text for a browser, and parses sizes typed there; `adocd.model.in_words` formats figures."""

import math
import re
from html import escape

_SIZES = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([KMGT]iB)")


def as_rocksdb_writes(words: str) -> str:
    """Turn `96 MiB` into `100663296`; return anything else unchanged for the daemon to check."""
    if (found := _SIZE.fullmatch(words.strip())) is None:
        return words.strip()
    number, unit = found.groups()
    return str(math.floor(float(number) * _SIZES[unit]))


def text(words: object) -> str:
    """Escape text for HTML: names from elsewhere must not become markup."""
    return escape(str(words))

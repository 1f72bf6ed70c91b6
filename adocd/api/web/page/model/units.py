"""What a browser is sent and what is typed there; figures in words are `adocd.model.in_words`."""

import math
import re
from html import escape

_SIZES = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([KMGT]iB)")


def as_rocksdb_writes(words: str) -> str:
    """Turn `96 MiB` into `100663296`; anything else stays as it is, for the daemon to judge."""
    if (found := _SIZE.fullmatch(words.strip())) is None:
        return words.strip()
    number, unit = found.groups()
    return str(math.floor(float(number) * _SIZES[unit]))


def text(words: object) -> str:
    """Write what others named so that no browser takes it for markup."""
    return escape(str(words))

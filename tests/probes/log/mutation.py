"""Real LOG lines, mutated: by a seed, so that what is found can be found again."""

from __future__ import annotations

import random

from .lines import SAMPLES

#: What breaks parsers: separators, quotes, brackets, control bytes, bytes that are no UTF-8, huge and odd numbers.
_PIECES = [
    *(bytes((each,)) for each in range(256)),
    b"\n\n",
    b"\r\n",
    b"\0" * 64,
    b"9" * 400,
    b"-1",
    b"1e999",
    b"nan",
    b"18446744073709551616",
    b"NaN",
    b"[" * 300,
    b'{"a":' * 300,
    b'"',
    b"\\u0000",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"EVENT_LOG_v1 ",
    b'{"time_micros": ',
    b"2026/11/20-20:04:10.315038 25884 ",
    b"2026/99/99-99:99:99.999999 25884 ",
    b"** Compaction Stats [",
    b"** DB Stats **",
    b"STATISTICS:",
    b" COUNT : ",
    b"\n** Level 999 read latency histogram (micros):\n",
    "٣".encode(),
]


class Mutator:
    """An endless source of inputs of a few lines each."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311
        self._lines = [line for sample in SAMPLES for line in sample.read_bytes().splitlines(keepends=True)]

    def input(self) -> bytes:
        """Take some lines, adjacent or not, and break them."""
        draw, lines = self._draw, self._lines
        at = draw.randrange(len(lines))
        data = bytearray(b"".join(lines[at : at + draw.randint(1, 6)]))
        if draw.random() < 0.3:
            data += draw.choice(lines)
        for _ in range(draw.randint(1, 4)):
            self._mutate(data)
        return bytes(data)

    def _mutate(self, data: bytearray) -> None:
        draw = self._draw
        at = draw.randrange(len(data) + 1)
        kind = draw.randrange(6)
        if kind == 0:
            data[at : at + draw.randint(0, 8)] = draw.choice(_PIECES)
        elif kind == 1:
            del data[at : at + draw.randint(1, 60)]
        elif kind == 2:
            data[at:at] = data[draw.randrange(len(data) + 1) :][: draw.randint(1, 200)]
        elif kind == 3 and data:
            data[at - 1 if at else 0] ^= 1 << draw.randrange(8)
        elif kind == 4:
            line = draw.choice(self._lines)
            data[at:at] = line[: draw.randrange(len(line))]
        else:
            data[at:at] = draw.choice(_PIECES)

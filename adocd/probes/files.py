"""Reads the kernel's small files: returns the text or the reason why not, and never raises."""

import os
from pathlib import Path

from adocd.model.missing import Missing

#: The largest file of interest is /proc/diskstats: 150 bytes for each of a few thousand devices.
_LARGEST_BYTES = 4 << 20
_CHUNK_BYTES = 64 << 10


def read_text(path: Path | str) -> str | Missing:
    """Read at most 4 MiB of a file in /proc or /sys; bytes that are not UTF-8 become U+FFFD."""
    try:
        # Takes half the time of open(), and a process has hundreds of these files.
        # Does not wait for a FIFO, which an agent may have named.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return _read(descriptor).decode("utf-8", errors="replace")
        finally:
            os.close(descriptor)
    except OSError as error:
        return Missing(f"{path}: {error.strerror or type(error).__name__}")
    except ValueError:  # a path that came from another file may have a zero byte
        return Missing(f"{str(path)!r} is no path")


def _read(descriptor: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    # The kernel may return less than requested; an empty read is the end.
    while size < _LARGEST_BYTES and (part := os.read(descriptor, _CHUNK_BYTES)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def text_or(path: Path, otherwise: str = "") -> str:
    """Read a file without surrounding white space, if its absence needs no explanation."""
    text = read_text(path)
    return otherwise if isinstance(text, Missing) else text.strip()


def natural(text: str) -> int | None:
    """Read a natural number of up to 20 digits (64 bits); None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else None

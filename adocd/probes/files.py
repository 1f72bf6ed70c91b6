"""Reading the kernel's small files: text or the reason why not, never an exception."""

import os
from pathlib import Path

from adocd.model.missing import Missing

#: The largest file of interest is /proc/diskstats: 150 bytes for each of a few thousand devices.
_LARGEST_BYTES = 4 << 20
_CHUNK_BYTES = 64 << 10


def read_text(path: Path | str) -> str | Missing:
    """Read a file of /proc or /sys, 4 MiB of it at most; bytes that are no UTF-8 become U+FFFD."""
    try:
        # Half the time of open(): a process has hundreds of these files.
        # A FIFO, which an agent may have named, is not waited for.
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
    # The kernel may give less than was asked for, and says the end with nothing.
    while size < _LARGEST_BYTES and (part := os.read(descriptor, _CHUNK_BYTES)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def text_or(path: Path, otherwise: str = "") -> str:
    """Read a file whose absence says enough, without white space around it."""
    text = read_text(path)
    return otherwise if isinstance(text, Missing) else text.strip()


def natural(text: str) -> int | None:
    """Read a natural number of up to 20 digits, as many as 64 bits have; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 20 else None

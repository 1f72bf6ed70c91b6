"""How a file of results is written: whole, or not at all, whenever the program is ended."""

import os
from pathlib import Path

from adocd.bench.errors import BadOption


def write_whole(file: Path, content: bytes) -> None:
    """Write a file in place of what was there; directories above it are made. Raises BadOption where it cannot be."""
    unfinished = file.with_suffix(".unfinished")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        os.replace(unfinished, file)
    except OSError as error:
        raise BadOption(f"{file} cannot be written ({error.strerror}): choose another --out") from None

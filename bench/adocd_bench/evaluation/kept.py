"""How a file of results is written, whole or not at all, whenever the program is ended, and read again."""

import os
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from adocd_bench.errors import BadOption

_Content = TypeVar("_Content")


def write_whole(file: Path, content: bytes) -> None:
    """Write a file in place of what was there; directories above it are made. Raises BadOption where it cannot be."""
    unfinished = file.with_suffix(".unfinished")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        os.replace(unfinished, file)
    except OSError as error:
        raise BadOption(f"{file} cannot be written ({error.strerror}): choose another --out") from None


def read_again(file: Path, content: TypeAdapter[_Content]) -> _Content | None:
    """Read what was written; None where nothing was. Raises BadOption where it cannot be read, or is damaged."""
    try:
        return content.validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadOption(f"{file} cannot be read ({error.strerror}): choose another --out") from None
    except ValidationError as error:
        raise BadOption(f"{file} is damaged ({error.errors()[0]['msg']}): remove it, and it is made anew") from None

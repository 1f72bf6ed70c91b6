"""Result files: written atomically, found, and read back.

Results are plain JSON. For archiving, compress them with `xz FILE.json`: every reader accepts FILE.json.xz in place of
FILE.json, and only this module knows about that.
"""

import lzma
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from adocd_bench.errors import BadArgument, BenchError

_Content = TypeVar("_Content")
_COMPRESSED = ".xz"


@dataclass(frozen=True)
class ResultFile(Generic[_Content]):
    """A kind of file: the type of its content, and the error sentences for a bad file.

    `{file}` and `{why}` are filled in; `option` is the one by which the user chose the place.
    """

    content: TypeAdapter[_Content]
    damaged: str = "{file} is damaged ({why}): remove it, and it is made anew"
    unreadable: str = "{file} cannot be read ({why}): choose another --out"
    option: str = "--out"
    error: type[BenchError] = BadArgument

    def write(self, file: Path, content: _Content, *, indent: int | None = 1) -> None:
        """Write it in place of what was there, compressed if it is called so; directories above it are made.

        Raises BadArgument where it cannot be.
        """
        unfinished, found = file.with_suffix(".unfinished"), self.content.dump_json(content, indent=indent) + b"\n"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(lzma.compress(found) if file.suffix == _COMPRESSED else found)
            os.replace(unfinished, file)
        except OSError as error:
            raise BadArgument(f"{file} cannot be written ({error.strerror}): choose another {self.option}") from None

    def read(self, file: Path) -> _Content:
        """Read it, compressed or not. Raises `error` with what is wrong with it."""
        try:
            return self.content.validate_json(_bytes(file))
        except OSError as error:
            raise self.error(self.unreadable.format(file=file, why=error.strerror)) from None
        except (lzma.LZMAError, EOFError) as error:
            raise self.error(self.damaged.format(file=file, why=error)) from None
        except ValidationError as error:
            raise self.error(self.damaged.format(file=file, why=_first(error))) from None

    def read_if_there(self, file: Path) -> _Content | None:
        """Read it; None where it is not there. Raises `error` with what is wrong with it."""
        return self.read(file) if is_there(file) else None


def is_there(file: Path) -> bool:
    """Say whether there is such a result, compressed or not."""
    return file.exists() or _compressed(file).exists()


def results_in(directory: Path) -> list[Path]:
    """Give the results in a directory, by name; one that is compressed has the name that it had before."""
    compressed = (file.with_suffix("") for file in directory.glob(f"*.json{_COMPRESSED}"))
    return sorted({*directory.glob("*.json"), *compressed})


def _bytes(file: Path) -> bytes:
    found = _compressed(file) if not file.exists() and _compressed(file).exists() else file
    content = found.read_bytes()
    return lzma.decompress(content) if found.suffix == _COMPRESSED else content


def _compressed(file: Path) -> Path:
    return file.with_name(file.name + _COMPRESSED)


def _first(error: ValidationError) -> str:
    """Describe the first error and its place in the file."""
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}" if where else problem["msg"]

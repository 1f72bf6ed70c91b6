"""Lines of bytes in a file, compressed by gzip or not, including files that are cut off or damaged."""

import contextlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from adocd.recording.format import NoRecording, NotReplayable

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 16
#: Longest line: a snapshot of hundreds of column families with every ticker has some MiB.
_LINE_MOST = 64 << 20


class LineFile:
    """A new file of lines, compressed if its name ends in .gz. Every method may raise NotReplayable (full disk)."""

    def __init__(self, path: Path) -> None:
        """Create the file; an existing one is never overwritten."""
        self.path = path
        self._pack = zlib.compressobj(wbits=_GZIP) if path.suffix == ".gz" else None
        try:
            self._file: BinaryIO = path.open("xb", buffering=0)
        except FileExistsError:
            raise NotReplayable(f"{path} exists already: name a file that does not, or remove it") from None
        except OSError as error:
            raise NotReplayable(f"{path} cannot be written: {error.strerror}") from None

    def write(self, line: bytes) -> None:
        """Append a line; it reaches the file by the next flush."""
        self._out(line + b"\n" if self._pack is None else self._pack.compress(line + b"\n"))

    def flush(self) -> None:
        """Write all lines to the file, so that they survive any end of this process."""
        if self._pack is not None:
            self._out(self._pack.flush(zlib.Z_SYNC_FLUSH))

    def close(self) -> None:
        """Close the file; closing it again does nothing."""
        if self._file.closed:
            return
        try:
            if self._pack is not None:
                self._out(self._pack.flush(zlib.Z_FINISH))
        finally:
            with contextlib.suppress(OSError):
                self._file.close()

    def _out(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            raise NotReplayable(f"{self.path} cannot be written on: {error.strerror}") from None


def read_lines(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines, each with whether it is complete: the last one may be torn. Raises NotReplayable.

    The first bytes show whether the file is compressed. Data that cannot be decompressed ends the file there.
    """
    begun: list[bytes] = []  # joined once: otherwise a line of many MiB would be copied for each of its pieces
    size = 0
    for chunk in _unpacked(path):
        first, *lines = chunk.split(b"\n")
        begun.append(first)
        size += len(first)
        if lines:
            yield b"".join(begun), True
            *lines, rest = lines
            for line in lines:
                yield line, True
            begun, size = [rest], len(rest)
        if size > _LINE_MOST:
            raise NotReplayable(f"{path} is no recording of adocd's: it has a line of more than {_LINE_MOST >> 20} MiB")
    if size:
        yield b"".join(begun), False


def _unpacked(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            first = file.read(_CHUNK)
            if not first.startswith(_GZIP_MAGIC):
                while first:
                    yield first
                    first = file.read(_CHUNK)
                return
            yield from _gunzipped(first, file)
    except FileNotFoundError:
        raise NoRecording(f"there is no file {path}") from None
    except OSError as error:
        raise NotReplayable(f"{path} cannot be read: {error.strerror}") from None


def _gunzipped(chunk: bytes, file: BinaryIO) -> Iterator[bytes]:
    unpack = zlib.decompressobj(wbits=_GZIP)
    while chunk or (chunk := file.read(_CHUNK)):
        before = unpack.copy()
        try:
            yield unpack.decompress(chunk, _CHUNK)
        except zlib.error:
            yield from _until_the_damage(before, chunk)
            yield b"\x00"  # not JSON, so it counts as torn: the rest is lost
            return
        if unpack.eof:  # read the parts of a file made by `cat one.gz two.gz` one after the other
            chunk, unpack = unpack.unused_data, zlib.decompressobj(wbits=_GZIP)
        else:
            chunk = unpack.unconsumed_tail
    with contextlib.suppress(zlib.error):
        yield unpack.flush()


def _until_the_damage(unpack: "zlib._Decompress", chunk: bytes) -> Iterator[bytes]:
    """Yield what comes before an error in the chunk: a call that fails gives nothing of it."""
    with contextlib.suppress(zlib.error):
        for at in range(len(chunk)):
            yield unpack.decompress(chunk[at : at + 1])

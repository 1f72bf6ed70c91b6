"""Compiles adocd's C++ on the user's machine for its librocksdb: the native agent and the load generator.

Each product is cached under the build id of its librocksdb, with a note of the sources it was built from, so that it is
rebuilt when either changes.
"""

import hashlib
import json
import mmap
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from adocd import __version__

_PACKAGES = "g++ cmake make binutils librocksdb-dev nlohmann-json3-dev libboost1.81-dev"
#: rocksdb::DB::Open as the compiler writes it, which every librocksdb exports.
_OPEN = b"_ZN7rocksdb2DB4Open"
#: Part of a property name that every build of RocksDB contains, so it shows a statically linked RocksDB.
ROCKSDB_MARK = b"num-immutable-mem-table"
#: The files below a product's sources that it is built from.
_COMPILED = ("CMakeLists.txt", "exports.map", "cmake/*", "include/**/*", "src/*")


class NativeError(Exception):
    """A product cannot be built or found; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class RocksDb:
    """A librocksdb on this machine."""

    path: Path
    build_id: str


@dataclass(frozen=True, slots=True)
class Product:
    """A library or program to compile.

    Attributes:
        name: the name of its directory in the cache, and of the note in it.
        file: the name of the built file.
        target: the target's name in its CMakeLists.txt.
        sources: the directory of that CMakeLists.txt.
        variables: cmake variables beyond those that all products have.

    """

    name: str
    file: str
    target: str
    sources: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def directory(self, library: RocksDb) -> Path:
        """Return the cache directory of the build for this librocksdb."""
        cache = os.environ.get("XDG_CACHE_HOME")
        base = Path(cache) if cache else Path.home() / ".cache"
        return base / "adocd" / self.name / library.build_id

    def kept(self, library: RocksDb) -> Path:
        """Return the path of the build for this librocksdb; it may not exist yet."""
        return self.directory(library) / self.file

    def is_current(self, library: RocksDb) -> bool:
        """Whether the build exists and was made from exactly these sources."""
        return self.kept(library).is_file() and read_note(self._note(library)).get("sources") == digest(self.sources)

    def build(self, library: RocksDb, output: Path | None = None, work: Path | None = None) -> Path:
        """Compile it for this librocksdb into the cache, or to the file `output`. Raises NativeError.

        Builds in the directory `work`, so that a second build is quick; without it in a temporary directory.
        """
        missing = [tool for tool in ("cmake", "g++", "make", "readelf") if shutil.which(tool) is None]
        if missing:
            raise NativeError(f"{', '.join(missing)} missing; install: apt-get install {_PACKAGES}")
        destination = output or self.kept(library)
        note = {"adocd": __version__, "sources": digest(self.sources), "rocksdb": str(library.path)}
        try:
            destination.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="adocd-build-") as temporary:
                compiled = self._compile(library, work or Path(temporary))
                # A running program may have the old file mapped: replace it with a rename, never write into it.
                staged = destination.with_name(f".{destination.name}.{os.getpid()}")
                shutil.copy2(compiled, staged)
            staged.replace(destination)
            if output is None:
                self._note(library).write_text(json.dumps(note), encoding="utf-8")
        except OSError as error:
            raise unwritable(destination, error, is_chosen=output is not None) from None
        return destination

    def _note(self, library: RocksDb) -> Path:
        return self.directory(library) / f"{self.name}.json"

    def _compile(self, library: RocksDb, work: Path) -> Path:
        variables = {"CMAKE_BUILD_TYPE": "Release", "ROCKSDB_LIBRARY": str(library.path), **self.variables}
        defined = [f"-D{name}={value}" for name, value in variables.items()]
        _run("cmake", "-S", str(self.sources), "-B", str(work), *defined)
        _run("cmake", "--build", str(work), "--parallel", str(os.cpu_count() or 1), "--target", self.target)
        return work / self.file


def unwritable(destination: Path, error: OSError, *, is_chosen: bool) -> NativeError:
    """Say that a product cannot be written, and where else it can go, which depends on who has chosen the place."""
    way_out = "choose another --output" if is_chosen else "set XDG_CACHE_HOME"
    return NativeError(f"{destination} cannot be written: {error.strerror}; {way_out}")


def rocksdb(path: Path | None = None) -> RocksDb:
    """Identify a librocksdb: the one named, else the one the dynamic linker finds. Raises NativeError."""
    library = path or _linker_finds()
    try:
        build_id = elf_build_id(library)
    except (OSError, ValueError, ELFError) as error:
        raise NativeError(f"{library} cannot be read as a shared library: {error}") from None
    if not _has_rocksdb(library):
        raise NativeError(f"{library} is not a librocksdb: it has no rocksdb::DB::Open")
    if build_id is None:
        raise NativeError(f"{library} has no GNU build id, so an agent could not tell it from another one")
    return RocksDb(library, build_id)


def _has_rocksdb(library: Path) -> bool:
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(_OPEN) >= 0


def elf_build_id(path: Path) -> str | None:
    """Read a file's GNU build id. Raises OSError, or ValueError when it is no ELF file."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            raise ValueError("not an ELF file")
        for section in ELFFile(file).iter_sections():
            if isinstance(section, NoteSection):
                for note in section.iter_notes():
                    if note["n_type"] == "NT_GNU_BUILD_ID":
                        return str(note["n_desc"])
    return None


def digest(tree: Path, patterns: Sequence[str] = _COMPILED) -> str:
    """Hash the sources that a product is built from."""
    total = hashlib.sha256()
    for path in sorted(path for pattern in patterns for path in tree.glob(pattern) if path.is_file()):
        total.update(f"{path.relative_to(tree)}\0".encode() + path.read_bytes())
    return total.hexdigest()


def read_note(path: Path) -> dict[str, str]:
    """Read the note beside a product; empty if there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _linker_finds() -> Path:
    try:
        listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    except OSError as error:
        raise NativeError(f"/sbin/ldconfig does not run ({error.strerror}); use --rocksdb") from None
    for line in listed.splitlines():
        name, _, path = line.partition(" => ")
        if name.strip().startswith("librocksdb.so."):
            return Path(path.strip()).resolve()
    raise NativeError("there is no librocksdb on this machine; install: apt-get install librocksdb-dev")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).splitlines()
        said = [line for word in ("error: ", "rror") for line in lines if word in line] or ["no error was named"]
        raise NativeError(
            f"`{' '.join(command[:3])} ...` failed: {said[0].strip()} (needed: apt-get install {_PACKAGES})"
        )

"""The native agent on this machine: compiled here, kept by the build id of the librocksdb it is for."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from adocd import __version__

LIBRARY = "libadocd_agent.so"
_PACKAGES = "g++ cmake make binutils librocksdb-dev nlohmann-json3-dev libboost1.81-dev"
_NOTE = "agent.json"
#: What the library is made of, below its sources.
_COMPILED = ("CMakeLists.txt", "exports.map", "cmake/*", "include/**/*", "src/*")


class NativeAgentError(Exception):
    """The agent cannot be built or found; one sentence."""


@dataclass(frozen=True, slots=True)
class RocksDb:
    """A librocksdb on this machine."""

    path: Path
    build_id: str


def sources() -> Path:
    """Find the agent's sources: in the checkout, or as they travel in the wheel."""
    package = Path(__file__).parent.parent
    for candidate in (package.parent / "agents" / "native", package / "_agents" / "native"):
        if (candidate / "CMakeLists.txt").is_file():
            return candidate
    raise NativeAgentError(f"the agent's sources are not in this installation of adocd ({package}); install it anew")


def rocksdb(path: Path | None = None) -> RocksDb:
    """Identify a librocksdb: the one named, else the one the dynamic linker finds. Raises NativeAgentError."""
    library = path or _linker_finds()
    try:
        build_id = elf_build_id(library)
    except (OSError, ValueError, ELFError) as error:
        raise NativeAgentError(f"{library} cannot be read as a shared library: {error}") from None
    if build_id is None:
        raise NativeAgentError(f"{library} has no GNU build id, so an agent could not tell it from another one")
    return RocksDb(library, build_id)


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


def directory(library: RocksDb) -> Path:
    """Where the agent for this librocksdb is kept."""
    cache = os.environ.get("XDG_CACHE_HOME")
    base = Path(cache) if cache else Path.home() / ".cache"
    return base / "adocd" / "agent" / library.build_id


def find(library: RocksDb) -> Path:
    """Find the agent built for this librocksdb; raises NativeAgentError that says how to get it."""
    agent = directory(library) / LIBRARY
    if not agent.is_file():
        others = sorted(p.parent.name for p in directory(library).parent.glob(f"*/{LIBRARY}"))
        built = f"it was built for another one ({others[0]})" if others else "it has not been built"
        raise NativeAgentError(
            f"there is no native agent for {library.path} (build id {library.build_id}): {built}; "
            "run `adocd agent build`"
        )
    note = _read_note(agent.with_name(_NOTE))
    if note.get("sources") != _digest(sources()):
        raise NativeAgentError(
            f"the native agent at {agent} was built from other sources than those of adocd {__version__}; "
            "run `adocd agent build`"
        )
    return agent


def build(library: RocksDb, output: Path | None = None, work: Path | None = None) -> Path:
    """Compile the agent for this librocksdb; to where it is kept, or to the file `output`. Raises NativeAgentError.

    It is compiled in the directory `work`, so that a second time is quick, else in a temporary one.
    """
    missing = [tool for tool in ("cmake", "g++", "make", "readelf") if shutil.which(tool) is None]
    if missing:
        raise NativeAgentError(f"{', '.join(missing)} missing; install: apt-get install {_PACKAGES}")
    kept = directory(library)
    destination = output or kept / LIBRARY
    note = {"adocd": __version__, "sources": _digest(sources()), "rocksdb": str(library.path)}
    try:
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="adocd-build-") as temporary:
            compiled = _compile(library, work or Path(temporary))
            # A running program may have the old file mapped: put the new one in its place whole.
            staged = destination.with_name(f".{destination.name}.{os.getpid()}")
            shutil.copy2(compiled, staged)
        staged.replace(destination)
        if output is None:
            (kept / _NOTE).write_text(json.dumps(note), encoding="utf-8")
    except OSError as error:
        raise NativeAgentError(f"{destination} cannot be written: {error.strerror}; set XDG_CACHE_HOME") from None
    return destination


def _compile(library: RocksDb, work: Path) -> Path:
    _run(
        "cmake",
        "-S",
        str(sources()),
        "-B",
        str(work),
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DROCKSDB_LIBRARY={library.path}",
    )
    _run("cmake", "--build", str(work), "--parallel", str(os.cpu_count() or 1), "--target", "adocd_agent")
    return work / LIBRARY


def _linker_finds() -> Path:
    try:
        listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    except OSError as error:
        raise NativeAgentError(f"/sbin/ldconfig does not run ({error.strerror}); use --rocksdb") from None
    for line in listed.splitlines():
        name, _, path = line.partition(" => ")
        if name.strip().startswith("librocksdb.so."):
            return Path(path.strip()).resolve()
    raise NativeAgentError("there is no librocksdb on this machine; install: apt-get install librocksdb-dev")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "rror" in line] or ["no error was named"]
        raise NativeAgentError(
            f"`{' '.join(command[:3])} ...` failed: {said[0].strip()} (needed: apt-get install {_PACKAGES})"
        )


def _digest(tree: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in _COMPILED for path in tree.glob(pattern) if path.is_file()):
        digest.update(f"{path.relative_to(tree)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _read_note(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}

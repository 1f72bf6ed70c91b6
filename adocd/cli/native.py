"""The native agent on this machine: compiled here and kept by the build id of its librocksdb, or from a package."""

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
from adocd.bundled import agent_directory
from adocd.targets.agent import MAJOR_VERSIONS

LIBRARY = "libadocd_agent.so"
_PACKAGES = "g++ cmake make binutils librocksdb-dev nlohmann-json3-dev libboost1.81-dev"
_NOTE = "agent.json"
#: Where an agent that was not compiled by this user may be, beside the directory of the librocksdb it is for.
_SYSTEM_LIBRARIES = (Path("/usr/local/lib"), Path("/usr/lib"))
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
    """Find the agent's sources. Raises NativeAgentError."""
    try:
        return agent_directory("native")
    except FileNotFoundError as error:
        raise NativeAgentError(str(error)) from None


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
    """Find the agent for this librocksdb: the user's own, else the system's. Raises NativeAgentError with the remedy.

    The user's own build must be of this adocd's sources: it is compiled anew in a minute. A package is updated apart
    from adocd, so there, as with an agent that already runs, the protocol's major version decides.
    """
    agent = directory(library) / LIBRARY
    if agent.is_file() and _read_note(agent.with_name(_NOTE)).get("sources") == digest(sources()):
        return agent
    found = _system_agents(library)
    for path, note in found:
        if note.get("rocksdb_build_id") == library.build_id and _is_spoken(note):
            return path
    raise NativeAgentError(_why_none(library, agent, found))


def _system_agents(library: RocksDb) -> list[tuple[Path, dict[str, str]]]:
    """List what the Debian package or `cmake --install` has put down, with its note."""
    places = dict.fromkeys((library.path.parent, *_SYSTEM_LIBRARIES))
    notes = [(place / LIBRARY, _read_note(place / "adocd" / _NOTE)) for place in places]
    return [(path, note) for path, note in notes if note and path.is_file()]


def _is_spoken(note: dict[str, str]) -> bool:
    major = note.get("protocol", "").partition(".")[0]
    return major.isdecimal() and int(major) in MAJOR_VERSIONS


def _why_none(library: RocksDb, agent: Path, system: list[tuple[Path, dict[str, str]]]) -> str:
    if agent.is_file():
        return (
            f"the native agent at {agent} was built from other sources than those of adocd {__version__}; "
            "run `adocd agent build`"
        )
    for path, note in system:
        if note.get("rocksdb_build_id") == library.build_id:
            return (
                f"the native agent at {path} speaks version {note.get('protocol')} of the admin protocol, which "
                f"adocd {__version__} does not; install the package of this adocd, or run `adocd agent build`"
            )
    others = sorted(p.parent.name for p in agent.parent.parent.glob(f"*/{LIBRARY}"))
    others += [note.get("rocksdb_build_id", "unknown") for _, note in system]
    built = f"it was built for another one ({others[0]})" if others else "it has not been built"
    return (
        f"there is no native agent for {library.path} (build id {library.build_id}): {built}; "
        "run `adocd agent build`, or install the Debian package adocd-agent-native"
    )


def build(library: RocksDb, output: Path | None = None, work: Path | None = None) -> Path:
    """Compile the agent for this librocksdb; to where it is kept, or to the file `output`. Raises NativeAgentError.

    It is compiled in the directory `work`, so that a second time is quick, else in a temporary one.
    """
    missing = [tool for tool in ("cmake", "g++", "make", "readelf") if shutil.which(tool) is None]
    if missing:
        raise NativeAgentError(f"{', '.join(missing)} missing; install: apt-get install {_PACKAGES}")
    kept = directory(library)
    destination = output or kept / LIBRARY
    note = {"adocd": __version__, "sources": digest(sources()), "rocksdb": str(library.path)}
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
        f"-DADOCD_VERSION={__version__}",
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
        lines = (done.stdout + done.stderr).splitlines()
        said = [line for word in ("error: ", "rror") for line in lines if word in line] or ["no error was named"]
        raise NativeAgentError(
            f"`{' '.join(command[:3])} ...` failed: {said[0].strip()} (needed: apt-get install {_PACKAGES})"
        )


def digest(tree: Path) -> str:
    """Sum up the sources that the library is made of."""
    total = hashlib.sha256()
    for path in sorted(path for pattern in _COMPILED for path in tree.glob(pattern) if path.is_file()):
        total.update(f"{path.relative_to(tree)}\0".encode() + path.read_bytes())
    return total.hexdigest()


def _read_note(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}

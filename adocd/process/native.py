"""Finds the native agent: compiled here and cached by its librocksdb's build id, or installed from a package."""

import contextlib
from pathlib import Path

from adocd import __version__
from adocd.process import compiled
from adocd.process.bundled import agent_directory
from adocd.process.compiled import NativeError, Product, RocksDb, read_note
from adocd.targets.protocol import MAJOR_VERSIONS

LIBRARY = "libadocd_agent.so"
#: Directories of an agent that this user did not compile, besides the directory of its librocksdb.
_SYSTEM_LIBRARIES = (Path("/usr/local/lib"), Path("/usr/lib"))


def product() -> Product:
    """Return how to compile the agent. Raises NativeError if this installation lacks its sources."""
    try:
        sources = agent_directory("native")
    except FileNotFoundError as error:
        raise NativeError(str(error)) from None
    return Product("agent", LIBRARY, "adocd_agent", sources, {"ADOCD_VERSION": __version__})


def find(library: RocksDb) -> Path:
    """Find the agent for this librocksdb: the user's own, else the system's. Raises NativeError with the remedy.

    The user's own build must come from this adocd's sources, since rebuilding takes only a minute. A package is updated
    independently of adocd, so for it, as for a running agent, only the protocol's major version must match.
    """
    own = product()
    if own.is_current(library):
        return own.kept(library)
    found = _system_agents(library)
    for path, note in found:
        if note.get("rocksdb_build_id") == library.build_id and _is_spoken(note):
            return path
    raise NativeError(_why_none(library, own.kept(library), found))


def _system_agents(library: RocksDb) -> list[tuple[Path, dict[str, str]]]:
    """List the agents that the Debian package or `cmake --install` installed, with their notes."""
    places = dict.fromkeys((library.path.parent, *_SYSTEM_LIBRARIES))
    notes = [(place / LIBRARY, read_note(place / "adocd" / "agent.json")) for place in places]
    return [(path, note) for path, note in notes if note and path.is_file()]


def _is_spoken(note: dict[str, str]) -> bool:
    major = note.get("protocol", "").partition(".")[0]
    return major.isdecimal() and int(major) in MAJOR_VERSIONS


def _why_none(library: RocksDb, agent: Path, system: list[tuple[Path, dict[str, str]]]) -> str:
    build = _build_command(library)
    if agent.is_file():
        return (
            f"the native agent at {agent} was built from other sources than those of adocd {__version__}; run `{build}`"
        )
    for path, note in system:
        if note.get("rocksdb_build_id") == library.build_id:
            return (
                f"the native agent at {path} speaks version {note.get('protocol')} of the admin protocol, which "
                f"adocd {__version__} does not; install the package of this adocd, or run `{build}`"
            )
    others = sorted(p.parent.name for p in agent.parent.parent.glob(f"*/{LIBRARY}"))
    others += [note.get("rocksdb_build_id", "unknown") for _, note in system]
    built = f"it was built for another one ({others[0]})" if others else "it has not been built"
    return (
        f"there is no native agent for {library.path} (build id {library.build_id}): {built}; "
        f"run `{build}`, or install the Debian package adocd-agent-native"
    )


def _build_command(library: RocksDb) -> str:
    with contextlib.suppress(NativeError):
        if compiled.rocksdb().build_id == library.build_id:
            return "adocd agent build"
    return f"adocd agent build --rocksdb {library.path}"

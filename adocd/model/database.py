"""An open database and the process that it is in, as an agent tells of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import OptionValues


@dataclass(frozen=True, slots=True)
class AgentKind:
    """Which agent, and its version."""

    kind: str
    version: str


@dataclass(frozen=True, slots=True)
class Info:
    """The process an agent lives in."""

    protocol: str
    agent: AgentKind
    rocksdb_version: str
    host: str
    pid: int
    program: str
    user: str
    capabilities: Capabilities
    rocksdb_build_id: str | None = None


@dataclass(frozen=True, slots=True)
class Database:
    """One open database: `id` survives restarts, `session` is one open of it."""

    id: str
    path: str
    db_identity: str
    session: str
    opened_monotonic_s: float
    column_families: tuple[str, ...]
    capabilities: Capabilities
    #: Those that this agent neither measures nor changes.
    unseen_column_families: tuple[str, ...] = ()
    log_path: str | None = None
    wal_dir: str | None = None
    added_options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DatabaseDetail(Database):
    """A database with the values its options had when it was opened."""

    originals: OptionValues = field(default_factory=OptionValues)

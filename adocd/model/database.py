"""An open database and its process, as an agent reports them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import OptionValues


@dataclass(frozen=True, slots=True)
class AgentKind:
    """The agent's kind and version."""

    kind: str
    version: str


@dataclass(frozen=True, slots=True)
class Info:
    """The process that an agent runs in.

    `pid` is what the process calls itself. `pid_here` is the same process in our own PID namespace, by the kernel; None
    if it cannot be seen from there, like one in another container.
    """

    protocol: str
    agent: AgentKind
    rocksdb_version: str
    host: str
    pid: int
    program: str
    user: str
    capabilities: Capabilities
    rocksdb_build_id: str | None = None
    pid_here: int | None = None


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
    #: Column families that this agent neither measures nor changes.
    unseen_column_families: tuple[str, ...] = ()
    log_path: str | None = None
    wal_dir: str | None = None
    #: Where its SST files are (db_paths, cf_paths); empty where the agent does not know, and then `path`.
    data_paths: tuple[str, ...] = ()
    added_options: Mapping[str, str] = field(default_factory=dict)
    #: The agent came while it was open: its originals are what was found then.
    opened_before_agent: bool = False


@dataclass(frozen=True, slots=True)
class DatabaseDetail(Database):
    """A database with the option values that it was opened with."""

    originals: OptionValues = field(default_factory=OptionValues)

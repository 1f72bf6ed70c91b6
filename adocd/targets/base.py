"""The seam between the daemon and a database: a few calls, and the values they take and give."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import Lease, OptionValues, Restore, Snapshot
from adocd.model.values import RATE_LIMITER, Values, of_database, of_family, of_pool


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


@dataclass(frozen=True, slots=True)
class ColumnFamilyChange:
    """One DB::SetOptions call."""

    column_family: str
    options: Mapping[str, str]
    scope: Literal["column_family"] = "column_family"

    def sets(self) -> Values:
        """Name the options with the values that they are to have."""
        return {of_family(self.column_family, option): value for option, value in self.options.items()}

    def wanted(self) -> Mapping[str, str]:
        """Name the values that must read back."""
        return self.options


@dataclass(frozen=True, slots=True)
class DatabaseChange:
    """One DB::SetDBOptions call."""

    options: Mapping[str, str]
    scope: Literal["database"] = "database"

    def sets(self) -> Values:
        """Name the options with the values that they are to have."""
        return {of_database(option): value for option, value in self.options.items()}

    def wanted(self) -> Mapping[str, str]:
        """Name the values that must read back."""
        return self.options


@dataclass(frozen=True, slots=True)
class ThreadPoolChange:
    """One Env::SetBackgroundThreads call; the pools belong to the process, not to one database."""

    pool: str
    threads: int
    scope: Literal["thread_pool"] = "thread_pool"

    def sets(self) -> Values:
        """Name the pool with the size that it is to have."""
        return {of_pool(self.pool): str(self.threads)}

    def wanted(self) -> Mapping[str, str]:
        """Name the values that must read back."""
        return {"threads": str(self.threads)}


@dataclass(frozen=True, slots=True)
class RateLimiterChange:
    """One RateLimiter::SetBytesPerSecond call; the limiter may be shared by several databases."""

    bytes_per_s: int
    scope: Literal["rate_limiter"] = "rate_limiter"

    def sets(self) -> Values:
        """Name the limiter with the rate that it is to have."""
        return {RATE_LIMITER: str(self.bytes_per_s)}

    def wanted(self) -> Mapping[str, str]:
        """Name the values that must read back."""
        return {"bytes_per_s": str(self.bytes_per_s)}


Change = ColumnFamilyChange | DatabaseChange | ThreadPoolChange | RateLimiterChange


@dataclass(frozen=True, slots=True)
class Below:
    """A restore step's condition: an integer property of a column family is below a value."""

    column_family: str
    property: str
    below: int


@dataclass(frozen=True, slots=True)
class RestoreStep:
    """A change that leads back, and what it waits for."""

    change: Change
    when: Below | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """What became of one change; `read_back` are the options' values afterwards."""

    outcome: Literal["applied", "unchanged", "error"]
    elapsed_s: float
    error: str | None
    read_back: Mapping[str, str]


class Target(Protocol):
    """One live database. Every call raises a TargetError of adocd.targets.errors when it cannot be done."""

    async def detail(self) -> DatabaseDetail:
        """Read identity, capabilities and original options."""

    async def snapshot(self, events_after: int | None) -> Snapshot:
        """Read the newest snapshot, with the events after a cursor."""

    async def hold_lease(self, holder: str, ttl_s: float, epoch: int | None) -> Lease:
        """Acquire (epoch None) or renew the lease."""

    async def release_lease(self, holder: str, epoch: int) -> Restore:
        """Give the lease back and let the agent restore the originals."""

    async def revoke_lease(self) -> Restore:
        """Take the lease from whoever holds it and let the agent restore the originals: the panic button."""

    async def change(
        self,
        holder: str,
        epoch: int,
        changes: tuple[Change, ...],
        restore_plan: tuple[RestoreStep, ...],
        *,
        repeat: bool = False,
    ) -> tuple[StepResult, ...]:
        """Execute changes in order, with `repeat` also those whose values are there.

        It takes as long as it takes: many seconds during a stall.
        """

    async def close(self) -> None:
        """Close the connections."""

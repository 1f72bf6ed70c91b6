"""Calls that change a database's options, restore plans, and the results of calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from adocd.model.values import RATE_LIMITER, Values, of_database, of_family, of_pool


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
    """A restore step's condition: an integer property of a column family must be below a value."""

    column_family: str
    property: str
    below: int


@dataclass(frozen=True, slots=True)
class RestoreStep:
    """A change that restores originals, and the condition that it waits for."""

    change: Change
    when: Below | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of one change; `read_back` holds the options' values afterwards."""

    outcome: Literal["applied", "unchanged", "error"]
    elapsed_s: float
    error: str | None
    read_back: Mapping[str, str]

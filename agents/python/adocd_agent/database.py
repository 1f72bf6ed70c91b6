"""The interface between the protocol and a database: what an agent must implement for each database it serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from adocd_agent.capabilities import Capabilities
from adocd_agent.catalogue import Catalogue
from adocd_agent.option_state import Name, OptionState

Json = Any


class OpenDatabase(Protocol):
    """One open of one database. Every method may raise DatabaseClosed, and is called from any thread."""

    path: str
    db_identity: str
    opened_monotonic_s: float
    catalogue: Catalogue

    def is_open(self) -> bool:
        """Whether the host still has it open; cheap, and never raises."""

    def narrow(self, capabilities: Capabilities) -> Capabilities:
        """Return the subset of the agent's capabilities that this database has."""

    def describe(self) -> dict[str, Json]:
        """Return the optional members of the contract's Database: log_path, wal_dir, added_options ..."""

    def read_options(self, *, fresh: bool = False) -> OptionState:
        """Return a copy of the current values; `fresh`: do not use cached ones."""

    def measure(self) -> dict[str, Json]:
        """Return a snapshot's members about the database, from stall to column_families; on the sampling thread."""

    def look(self) -> None:
        """Poll what must be watched between snapshots; on the sampling thread, ten times a second."""

    def property_value(self, column_family: str, name: str) -> int | None:
        """Return a column family's property; None if it cannot be read."""

    def lack_of_space(self) -> str | None:
        """Say in one sentence that there is no room for what RocksDB writes at a change; None if there is."""

    def call(self, change: Json) -> str | None:
        """Make one call into RocksDB; return RocksDB's error message if it fails."""

    def end(self, changed: Mapping[Name, str], originals: OptionState) -> None:
        """Release the database.

        `changed` are the settings outliving it that a lease left changed, with the value it set. They are restored,
        but for those that somebody else has set since.
        """

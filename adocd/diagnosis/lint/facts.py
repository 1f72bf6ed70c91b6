"""The facts that the rules look at, as values: what the agent reports, the OPTIONS file, the available memory."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from adocd.model.capabilities import Capabilities
from adocd.model.database import DatabaseDetail, Info
from adocd.model.knob import MIB
from adocd.model.memtables import IDLE_MEMTABLE_BYTES
from adocd.model.snapshot import OptionValues, Snapshot
from adocd.probes.options_file import OptionsFile, Unreadable

#: RocksDB's notation of a whole number, of 64 bits at most.
_WHOLE = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?(?![0-9])", re.ASCII)
#: A restore in one of these states has not put every original back yet.
_RESTORING = ("armed", "running", "waiting")


def _numbers(version: str) -> tuple[int, ...] | None:
    found = _VERSION.match(version)
    return None if found is None else tuple(int(part) for part in found.groups() if part is not None)


@dataclass(frozen=True, slots=True)
class Values:
    """Options by name, as text; a missing or unparsable one reads as None, never as a default."""

    options: Mapping[str, str]

    def number(self, name: str) -> int | None:
        """Return an option as a whole number; None where it is missing or not one."""
        text = self.options.get(name, "")
        return int(text) if _WHOLE.fullmatch(text) else None

    def flag(self, name: str) -> bool | None:
        """Return an option as a boolean; None where it is missing or not one."""
        return {"true": True, "false": False}.get(self.options.get(name, ""))

    def text(self, name: str) -> str | None:
        """Return an option's text as it is; None where it is missing."""
        return self.options.get(name)


@dataclass(frozen=True, slots=True)
class MemtableMemory:
    """Limits on memtable memory, in bytes."""

    #: The budget of all targets of the daemon together (`memory_budget_bytes`).
    budget_bytes: int
    #: The worst case of the other targets' memtables.
    beside_bytes: int = 0
    #: The most memory that the database's process can have, from the machine or its cgroup; None where unknown.
    limit_bytes: int | None = None
    #: The limit of its cgroup alone, of which adocd lets memtables take a part; None without one.
    group_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """The law's bounds: from the policy, or ADOC's defaults."""

    batch_max_bytes: int = 512 * MIB
    threads_max: int = 20
    #: Bytes that its memory step adds to the batch; 0: the initial batch. None where it leaves the batch alone.
    batch_step_bytes: int | None = 64 * MIB


@dataclass(frozen=True)
class Facts:
    """One open database."""

    info: Info
    detail: DatabaseDetail
    snapshot: Snapshot
    memory: MemtableMemory
    options_file: OptionsFile | Unreadable
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def capabilities(self) -> Capabilities:
        """What the agent can change and measure of this database."""
        return self.detail.capabilities

    @cached_property
    def version(self) -> tuple[int, ...] | None:
        """RocksDB's major and minor version, and its patch where that is told; None without a version."""
        return _numbers(self.info.rocksdb_version)

    @cached_property
    def protocol(self) -> tuple[int, ...] | None:
        """The admin protocol's major and minor version; None where the agent does not report it."""
        return _numbers(self.info.protocol)

    @cached_property
    def configured(self) -> OptionValues:
        """The live options as the host set them: changes by a lease are not the configuration's fault.

        While a lease is held or its changes are being restored, these are the originals; otherwise the values in force.
        """
        tuned = self.snapshot.lease is not None or self.snapshot.restore.state in _RESTORING
        return self.detail.originals if tuned else self.snapshot.options

    @cached_property
    def database(self) -> Values:
        """Database-wide options, including those that only the OPTIONS file has."""
        file = {} if isinstance(self.options_file, Unreadable) else self.options_file.database
        return Values({**file, **self.configured.database})

    @cached_property
    def families(self) -> Mapping[str, Values]:
        """The options of each column family that the agent measures and changes, by column family."""
        file = {} if isinstance(self.options_file, Unreadable) else self.options_file.column_families
        return {
            name: Values({**file.get(name, {}), **options}) for name, options in self.configured.column_families.items()
        }

    @cached_property
    def all_families(self) -> frozenset[str]:
        """The names of all column families, including those that the agent does not see."""
        file = {} if isinstance(self.options_file, Unreadable) else self.options_file.column_families
        return frozenset(self.families) | frozenset(self.snapshot.column_families) | frozenset(file)

    @cached_property
    def written(self) -> frozenset[str]:
        """The column families being written now; all if none is, because a start looks like that."""
        busy = {
            name
            for name, cf in self.snapshot.column_families.items()
            if cf.properties.get("rocksdb.cur-size-all-mem-tables", 0) > IDLE_MEMTABLE_BYTES
        }
        return frozenset(busy & self.families.keys()) or frozenset(self.families)

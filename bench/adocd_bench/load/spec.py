"""The load generator's specification: the JSON file that it reads (native/src/spec.h)."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from adocd_bench.load.arrivals import Steps

Distribution = Literal["uniform", "zipfian", "latest", "sequential"]
OptionText = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Mix:
    """Relative frequency of each kind of operation: weights, which need not add up to 1.

    An update writes a record that there is (or, while it is being loaded, is not yet); an insert makes a new one,
    behind all others; a scan reads up to `Work.scan_length` records from one on; a read-modify-write counts as one
    operation, from the read's call to the write's return.
    """

    read: float = 0.0
    update: float = 0.0
    insert: float = 0.0
    scan: float = 0.0
    read_modify_write: float = 0.0


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """How an operation's record is chosen among `records` records.

    `zipfian` and `latest` are YCSB's (native/src/keys.h); latest goes on to those that were inserted since.
    `sequential` takes one after the other: with as many updates as records, it loads each once.
    """

    distribution: Distribution
    records: int


@dataclass(frozen=True, slots=True)
class ClosedArrivals:
    """A client starts its next operation when the last has returned, for a time or a count, whichever is first."""

    seconds: float | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class OpenArrivals:
    """Operations are to start at given times, evenly spaced within a step, or as a Poisson process of its rate.

    After the last step, late operations may still start for `overrun_at_most_s`; those that have not started by then
    are counted (`not_started`) with the time that they have waited.
    """

    steps: Steps
    poisson: bool = False
    overrun_at_most_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Work:
    """A phase of operations by `threads` clients.

    With `waits_for` it begins when that file exists; the program ends with an error after a minute without one.
    """

    name: str
    arrivals: ClosedArrivals | OpenArrivals
    operations: Mix
    keys: KeyChoice
    threads: int = 1
    scan_length: int = 100
    measured: bool = False
    waits_for: Path | None = None


@dataclass(frozen=True, slots=True)
class Drain:
    """A phase that waits until no flush or compaction runs or is pending; the active memtable is left as it is.

    With `until` it flushes the memtables instead, and waits until that file exists.
    """

    name: str
    at_most_s: float = 600.0
    until: Path | None = None


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """A whole run; exactly one phase is measured.

    Attributes:
        database: its directory.
        result: the file that is written at the end.
        create: destroy what RocksDB has there, and create a new one; else there must be one.
        options: by RocksDB's names, of the database and of its column family; the rest is RocksDB's defaults, but
            without compression.
        rate_limiter_bytes_per_s: the rate of a limiter on flushes and compactions; None for none. `bytes_per_sync`
            and `delayed_write_rate`, which RocksDB would change with it, stay as without one unless `options` name
            them.
        auto_tuned: RocksDB's own tuning of the limiter.
        statistics: `none`, `tickers`, or `all` with histograms and timers.
        key_bytes: 8 or more.
        key_order: `hashed` scatters neighbouring records over all keys, as YCSB does; `ordered` keeps them together.
        seed: the same one gives the same operations on the same keys, each at its number.

    """

    database: Path
    result: Path
    phases: tuple[Work | Drain, ...]
    create: bool = False
    options: Mapping[str, OptionText] = field(default_factory=dict)
    rate_limiter_bytes_per_s: int | None = None
    auto_tuned: bool = False
    statistics: Literal["none", "tickers", "all"] = "none"
    key_bytes: int = 16
    value_bytes: int = 1000
    key_order: Literal["hashed", "ordered"] = "hashed"
    disable_wal: bool = False
    seed: int = 1

    def to_json(self) -> str:
        """Write it as the generator reads it."""
        content = asdict(self)
        content["phases"] = [_phase(phase) for phase in self.phases]
        return json.dumps(content, default=str)


def _phase(phase: Work | Drain) -> dict[str, Any]:
    content = asdict(phase)
    if isinstance(phase, Drain):
        until = {"until": content.pop("until")}
        content["drain"] = {"at_most_s": content.pop("at_most_s")} | (until if phase.until is not None else {})
    else:
        loop = "open" if isinstance(phase.arrivals, OpenArrivals) else "closed"
        content[loop] = content.pop("arrivals")
    return content

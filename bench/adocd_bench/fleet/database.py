"""One simulated database: its identity, and its snapshot as JSON, put together from prepared pieces."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adocd_bench.fleet.figures import FleetFigures, FleetLoad
from adocd_bench.fleet.lease import FleetControl
from adocd_bench.fleet.options import COLUMN_FAMILY, DATABASE, THREAD_POOLS

CAPABILITIES = {
    "column_family_options": list(COLUMN_FAMILY),
    "database_options": list(DATABASE),
    "rate_limiter": False,
    "thread_pools": list(THREAD_POOLS),
    "events": ["flush", "compaction", "stall"],
    "statistics": "none",
    "responds_during_stall": True,
}
_LEVELS = 7
_FNV = (0xCBF29CE484222325, 0x100000001B3)
#: The parts of RocksDB's LOG lines for flushes and compactions that adocd reads.
_LOGGED = {
    "flush_begin": '"event": "flush_started", "num_memtables": 1, "flush_reason": "Write Buffer Full"',
    "flush_end": '"event": "flush_finished", "lsm_state": [1, 0, 0, 0, 0, 0, 0], "immutable_memtables": 0',
    "compaction_begin": '"event": "compaction_started", "compaction_reason": "LevelL0FilesNum", "score": 1',
    "compaction_end": '"event": "compaction_finished", "output_level": 1, "num_output_files": 1, '
    '"lsm_state": [0, 1, 0, 0, 0, 0, 0]',
}


class FleetDatabase:
    """A simulated database: an empty directory with a LOG, and figures that grow over time."""

    def __init__(self, directory: Path, host: str, load: FleetLoad, session: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = str(directory)
        self.identity = f"simulated-{directory.name}"
        self.id = _id(host, self.path, self.identity)
        self.session = session
        self._log = directory / "LOG"
        self._log.write_text("")
        self._opened_s = time.monotonic()
        self._figures = FleetFigures(load, self._opened_s)
        self.control = FleetControl(self._tell)
        self._sequence = 0
        self._options: tuple[int, str] | None = None

    def listed(self) -> dict[str, Any]:
        """Show it as GET /v1/databases does."""
        return {
            "id": self.id,
            "path": self.path,
            "db_identity": self.identity,
            "session": self.session,
            "opened_monotonic_s": self._opened_s,
            "column_families": ["default"],
            "log_path": str(self._log),
            "wal_dir": self.path,
            "added_options": {},
            "capabilities": CAPABILITIES,
        }

    def detail(self) -> dict[str, Any]:
        """Show it with its originals."""
        return self.listed() | {"originals": _nested(self.control.originals)}

    def snapshot(self, after: int | None) -> bytes:
        """Take a snapshot now, with the events after a cursor."""
        now_s = time.monotonic()
        figures, values = self._figures, self.control.values
        lease = self.control.lease(now_s)
        kinds = figures.advance(
            now_s,
            int(values["column_family", "write_buffer_size"]),
            int(values["column_family", "level0_file_num_compaction_trigger"]),
        )
        if kinds:
            self._write_log(kinds)
        self._sequence += 1
        stopped, delayed = figures.condition == "stopped", figures.condition == "delayed"
        held = figures.held_s
        l0_files = figures.l0_files(int(values["column_family", "level0_slowdown_writes_trigger"]))
        levels = [l0_files, 1, *[0] * (_LEVELS - 2)]
        files = ",".join(f'"rocksdb.num-files-at-level{level}":{count}' for level, count in enumerate(levels))
        events = [] if after is None else self._events_after(after)
        lost = 0 if after is None else max(0, figures.last_event - after - len(figures.events))
        text = (
            f'{{"database":"{self.id}","session":"{self.session}","sequence":{self._sequence},'
            f'"monotonic_s":{now_s:.6f},"age_s":0.0,"collect_s":0.00005,'
            f'"stall":{{"condition":"{figures.condition}","since_monotonic_s":{figures.since_s:.6f},'
            f'"stopped_s":{held["stopped"]:.6f},"delayed_s":{held["delayed"]:.6f}}},'
            f'"counters":{{"writes":{figures.writes},"written_bytes":{figures.written_bytes},'
            f'"wal_bytes":{figures.written_bytes},"stall_micros":{round(sum(held.values()) * 1e6)},'
            f'"flushes":{figures.flushes},"flush_written_bytes":{figures.flushed_bytes},'
            f'"compactions":{figures.compactions},"compaction_read_bytes":{figures.compacted_bytes},'
            f'"compaction_written_bytes":{figures.compacted_bytes}}},'
            f'"properties":{{"rocksdb.is-write-stopped":{stopped:d},'
            f'"rocksdb.actual-delayed-write-rate":{8388608 * delayed},'
            f'"rocksdb.num-running-flushes":0,"rocksdb.num-running-compactions":{figures.is_compacting:d},'
            f'"rocksdb.background-errors":0}},"tickers":null,"histograms":null,"options":{self._options_text()},'
            f'"column_families":{{"default":{{"properties":{{'
            f'"rocksdb.num-immutable-mem-table":{figures.immutable_memtables},'
            f'"rocksdb.mem-table-flush-pending":{stopped:d},"rocksdb.compaction-pending":{figures.is_compacting:d},'
            f'"rocksdb.cur-size-active-mem-table":{figures.memtable_bytes},'
            f'"rocksdb.cur-size-all-mem-tables":{figures.memtable_bytes},'
            f'"rocksdb.estimate-pending-compaction-bytes":{l0_files << 20},"rocksdb.base-level":1,'
            f'"rocksdb.live-sst-files-size":{figures.level_bytes},{files}}},'
            f'"stall_counts":{{"memtable_stops":{figures.memtable_stops},"memtable_slowdowns":0,"l0_stops":0,'
            f'"l0_slowdowns":{figures.l0_slowdowns},"pending_bytes_stops":0,"pending_bytes_slowdowns":0}},'
            f'"level_bytes":[{l0_files << 20},{figures.level_bytes},0,0,0,0,0]}}}},'
            f'"lease":{json.dumps(lease)},"restore":{json.dumps(self.control.restore())},"change_in_flight":false,'
            f'"revoked_epoch":{json.dumps(self.control.revoked_epoch)},'
            f'"events":[{",".join(events)}],"last_event":{figures.last_event},"lost_events":{lost}}}'
        )
        return text.encode()

    def _events_after(self, after: int) -> list[str]:
        kept = self._figures.events
        new = min(len(kept), self._figures.last_event - after)
        return [] if new <= 0 else list(kept)[-new:]

    def _options_text(self) -> str:
        """Write the options; anew only when one has changed."""
        if self._options is None or self._options[0] != self.control.version:
            self._options = (self.control.version, json.dumps(_nested(self.control.values), separators=(",", ":")))
        return self._options[1]

    def _tell(self, kind: str) -> None:
        self._figures.tell(time.monotonic(), kind)

    def _write_log(self, kinds: list[str]) -> None:
        now = datetime.now(UTC)
        micros = int(now.timestamp() * 1e6)
        lines = "".join(
            f"{now:%Y/%m/%d-%H:%M:%S.%f} 1 EVENT_LOG_v1 "
            f'{{"time_micros": {micros}, "job": {self._sequence}, {_LOGGED[kind]}}}\n'
            for kind in kinds
            if kind in _LOGGED
        )
        if lines:
            with self._log.open("a") as log:
                log.write(lines)


def _nested(values: dict[tuple[str, str], str]) -> dict[str, Any]:
    def of(scope: str) -> dict[str, str]:
        return {name: value for (its, name), value in values.items() if its == scope}

    pools = {name: int(value) for name, value in of("thread_pool").items()}
    return {
        "database": of("database"),
        "column_families": {"default": of("column_family")},
        "rate_limiter_bytes_per_s": None,
        "thread_pools": pools,
    }


def _id(host: str, path: str, identity: str) -> str:
    """FNV-1a of host name, path and identity, as agents/admin-api.yaml has it."""
    value, prime = _FNV
    for byte in b"\0".join(part.encode() for part in (host, path, identity)):
        value = ((value ^ byte) * prime) % 2**64
    return f"{value:016x}"

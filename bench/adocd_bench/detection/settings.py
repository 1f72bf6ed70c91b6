"""Settings that provoke each of RocksDB's stall causes, with a rate limiter in place of a slow disk; one has no stall.

Most causes have two settings, with short and long stalls: a stall shorter than the sampling period is harder to see.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adocd_bench.programs.db_bench import agent_library, find_db_bench
from adocd_bench.programs.embedded import find_embedded
from adocd_bench.programs.fill import KEY_BYTES, VALUE_BYTES

_MB = 1_000_000
_MIB = 1 << 20
_KEYS = 1_000_000_000

_Flags = Mapping[str, int]
#: Level 0 and pending compaction bytes never stall writes.
_NO_L0: _Flags = {"level0_slowdown_writes_trigger": 1000, "level0_stop_writes_trigger": 1000}
_NO_PENDING: _Flags = {"soft_pending_compaction_bytes_limit": 0, "hard_pending_compaction_bytes_limit": 0}
_SMALL: _Flags = {
    "write_buffer_size": 2 * _MIB,
    "max_write_buffer_number": 8,
    "target_file_size_base": 2 * _MIB,
    "max_bytes_for_level_base": 8 * _MIB,
    "level0_file_num_compaction_trigger": 4,
}


@dataclass(frozen=True, slots=True)
class StallSetting:
    """One workload: options by RocksDB's names, and db_bench's own flags."""

    name: str
    flags: _Flags
    #: Rate limit of flushes and compactions, bytes per second.
    rate_bytes_per_s: int
    agent: str = "native"

    def command(self, directory: Path, seconds: int) -> list[str]:
        """Build the command line that writes for this long."""
        if self.agent == "python":
            program = [sys.executable, "-m", "adocd_bench.programs.stalling_program", str(directory), str(seconds)]
            return [*program, str(self.rate_bytes_per_s), json.dumps(self._setters())]
        return [
            find_db_bench().path,
            "--benchmarks=fillrandom",
            f"--db={directory}",
            "--use_existing_db=0",
            f"--duration={seconds}",
            f"--num={_KEYS}",
            "--seed=1",
            f"--key_size={KEY_BYTES}",
            f"--value_size={VALUE_BYTES}",
            "--compression_type=none",
            f"--rate_limiter_bytes_per_sec={self.rate_bytes_per_s}",
            *(f"--{name}={value}" for name, value in self.flags.items()),
        ]

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables that load its agent."""
        return find_embedded().environment() if self.agent == "python" else {"LD_PRELOAD": agent_library()}

    def _setters(self) -> dict[str, object]:
        """Return the options under rocksdict's names."""
        renamed = {
            "level0_slowdown_writes_trigger": "level_zero_slowdown_writes_trigger",
            "level0_stop_writes_trigger": "level_zero_stop_writes_trigger",
            "level0_file_num_compaction_trigger": "level_zero_file_num_compaction_trigger",
        }
        setters: dict[str, object] = {renamed.get(name, name): value for name, value in self.flags.items()}
        if "disable_auto_compactions" in setters:
            setters["disable_auto_compactions"] = bool(setters["disable_auto_compactions"])
        return setters


_MEMTABLES: _Flags = {**_NO_L0, **_NO_PENDING, "disable_auto_compactions": 1}
SETTINGS = (
    StallSetting(
        "short memtable stops",
        {**_MEMTABLES, "write_buffer_size": 2 * _MIB, "max_write_buffer_number": 2},
        6 * _MB,
    ),
    StallSetting(
        "long memtable stops",
        {**_MEMTABLES, "write_buffer_size": 8 * _MIB, "max_write_buffer_number": 2},
        3 * _MB,
    ),
    StallSetting(
        "memtable delays",
        {**_MEMTABLES, "write_buffer_size": 4 * _MIB, "max_write_buffer_number": 6, "delayed_write_rate": 2 * _MB},
        3 * _MB,
    ),
    StallSetting(
        "level-0 slowdowns",
        {
            **_SMALL,
            **_NO_PENDING,
            "level0_slowdown_writes_trigger": 6,
            "level0_stop_writes_trigger": 1000,
            "delayed_write_rate": 4 * _MB,
        },
        24 * _MB,
    ),
    StallSetting(
        "level-0 stops",
        {
            **_SMALL,
            **_NO_PENDING,
            "level0_slowdown_writes_trigger": 8,
            "level0_stop_writes_trigger": 8,
            "benchmark_write_rate_limit": 12 * _MB,
        },
        16 * _MB,
    ),
    StallSetting(
        "pending-bytes slowdowns",
        {
            **_SMALL,
            **_NO_L0,
            "max_bytes_for_level_base": 4 * _MIB,
            "soft_pending_compaction_bytes_limit": 16 * _MIB,
            "hard_pending_compaction_bytes_limit": 0,
            "delayed_write_rate": 3 * _MB,
        },
        24 * _MB,
    ),
    StallSetting(
        "pending-bytes stops",
        {
            **_SMALL,
            **_NO_L0,
            "max_bytes_for_level_base": 4 * _MIB,
            "soft_pending_compaction_bytes_limit": 0,
            "hard_pending_compaction_bytes_limit": 16 * _MIB,
        },
        24 * _MB,
    ),
    StallSetting(
        "everything at once",
        {
            **_SMALL,
            "max_write_buffer_number": 4,
            "level0_slowdown_writes_trigger": 6,
            "level0_stop_writes_trigger": 10,
            "soft_pending_compaction_bytes_limit": 16 * _MIB,
            "hard_pending_compaction_bytes_limit": 48 * _MIB,
            "delayed_write_rate": 8 * _MB,
        },
        16 * _MB,
    ),
    # Every stall reported here is false.
    StallSetting("no stalls", {"benchmark_write_rate_limit": 2 * _MB}, 100 * _MB),
    StallSetting(
        "rocksdict, memtables",
        {"write_buffer_size": 8 * _MIB, "max_write_buffer_number": 2, "disable_auto_compactions": 1},
        3 * _MB,
        "python",
    ),
    StallSetting(
        "rocksdict, everything",
        {
            **_SMALL,
            "max_write_buffer_number": 4,
            "level0_slowdown_writes_trigger": 6,
            "level0_stop_writes_trigger": 10,
            "soft_pending_compaction_bytes_limit": 16 * _MIB,
            "hard_pending_compaction_bytes_limit": 48 * _MIB,
        },
        16 * _MB,
        "python",
    ),
)

"""In what the Python agent and the native agent differ: as data, held against both, and against the README's table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.hosts import Host, remove, wait_for_agent
from tests.conformance.native_host import NativeHost
from tests.conformance.python_host import PythonHost
from tests.support.agent_client import AgentClient

README = Path(__file__).resolve().parents[2] / "agents" / "python" / "README.md"

DATABASE_OPTIONS = (
    "avoid_flush_during_shutdown",
    "bytes_per_sync",
    "compaction_readahead_size",
    "delayed_write_rate",
    "delete_obsolete_files_period_micros",
    "max_background_compactions",
    "max_background_flushes",
    "max_background_jobs",
    "max_open_files",
    "max_subcompactions",
    "max_total_wal_size",
    "stats_dump_period_sec",
    "stats_history_buffer_size",
    "stats_persist_period_sec",
    "strict_bytes_per_sync",
    "wal_bytes_per_sync",
    "writable_file_max_buffer_size",
)
STRUCTURES = (
    "bottommost_compression_opts",
    "compaction_options_fifo",
    "compaction_options_universal",
    "compression_opts",
    "prefix_extractor",
)
GONE_IN_9_8 = ("check_flush_compaction_key_order", "ignore_max_compaction_bytes_for_input")
NEW_IN_9_8 = (
    "block_protection_bytes_per_key",
    "bottommost_file_compaction_delay",
    "default_write_temperature",
    "memtable_max_range_deletions",
    "paranoid_memory_checks",
    "strict_max_successive_merges",
    "uncache_aggressiveness",
)
"""Live in RocksDB 9.8.4 (rocksdict 0.3.29) and not, or not yet, in 7.8.3 (Debian 12)."""

NATIVE_ONLY: dict[str, tuple[str, ...]] = {
    "column_family_options": tuple(sorted(STRUCTURES + GONE_IN_9_8)),
    "database_options": DATABASE_OPTIONS,
    "events": ("background_error", "compaction", "flush", "memtable", "stall"),
    "thread_pools": (),
    "waits_for": ("memtables_wait", "stall"),
}
PYTHON_ONLY: dict[str, tuple[str, ...]] = {
    "column_family_options": NEW_IN_9_8,
    "database_options": (),
    "events": (),
    "thread_pools": (),
    "waits_for": (),
}
OTHERWISE: dict[str, tuple[object, object]] = {
    "rate_limiter": (True, False),
    "lifts_rate_limit": (True, False),
    "responds_during_stall": (True, False),
    "statistics": ("none", "all"),
    "write_latency": ("sampled", "none"),
}
"""(native, python). The native agent tells what it adds, which is nothing unless asked."""


@pytest.fixture
def agents(tmp_path: Path, run_dir: Path, native_agent_library: Path, native_programs: Path) -> Any:
    """Start a host of each kind, and return what they can do: (native, python)."""
    hosts: list[Host] = []
    try:
        hosts.append(
            NativeHost(
                native_programs / "lifecycle", native_agent_library, run_dir, tmp_path / "n", limiter=None, families=()
            )
        )
        hosts.append(PythonHost(run_dir, tmp_path / "p", limiter=None, families=()))
        found = []
        for host in hosts:
            wait_for_agent(host.socket_path)
            with AgentClient(host.socket_path) as client:
                found.append(client.info()["capabilities"])
        return tuple(found)
    finally:
        for host in hosts:
            host.stop()
        remove(tmp_path / "n", tmp_path / "p")


def test_the_agents_differ_in_this_and_in_nothing_else(agents: tuple[dict[str, Any], dict[str, Any]]) -> None:
    native, python = agents
    assert set(native) == set(python) == set(NATIVE_ONLY) | set(OTHERWISE)
    for name, only in NATIVE_ONLY.items():
        assert sorted(set(native[name]) - set(python[name])) == sorted(only), name
    for name, only in PYTHON_ONLY.items():
        assert sorted(set(python[name]) - set(native[name])) == sorted(only), name
    for name, expected in OTHERWISE.items():
        assert (native[name], python[name]) == expected, name


def words(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def table() -> str:
    """Write the differences as the README has them."""
    lines = ["| capability | only the native agent | only the Python agent |", "|---|---|---|"]
    lines += [f"| `{name}` | {words(only)} | {words(PYTHON_ONLY[name])} |" for name, only in NATIVE_ONLY.items()]
    lines += [
        f"| `{name}` | {a} | {b} |".replace("True", "yes").replace("False", "no") for name, (a, b) in OTHERWISE.items()
    ]
    return "\n".join(lines)


def test_the_readme_has_this_table() -> None:
    assert table() in README.read_text(encoding="utf-8"), f"agents/python/README.md should have:\n{table()}"

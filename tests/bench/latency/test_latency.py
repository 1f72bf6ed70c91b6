"""The bench of the sampler of write latencies: a short run of each kind, and what it shows of one."""

from __future__ import annotations

from pathlib import Path

import pytest
from adocd_bench.latency import runs
from adocd_bench.latency.__main__ import tables
from adocd_bench.latency.measured import FILE, HistogramsAgree, Measured, Pair, ToldLatencies

WRITES = 40_000


def test_db_bench_and_the_sampler_tell_of_the_same_writes(tmp_path: Path, native_agent_library: Path) -> None:
    assert native_agent_library.exists()
    agrees(runs.of_db_bench(WRITES, 2, tmp_path))


def test_the_load_generator_and_the_sampler_tell_of_the_same_writes(tmp_path: Path, native_agent_library: Path) -> None:
    assert native_agent_library.exists()
    agrees(runs.of_generator(WRITES, 2, tmp_path))


def agrees(found: HistogramsAgree) -> None:
    """The figures are in docs/latency.md; here no more than that both measured the same thing."""
    assert found.its_own.count == WRITES
    assert found.sampler.count == pytest.approx(WRITES, rel=0.2)
    assert found.its_own.p50_us / 10 < found.sampler.p50_us < found.its_own.p50_us * 10
    assert found.sampler.p50_us <= found.sampler.p99_us <= found.sampler.p99_9_us <= found.sampler.max_us


def test_each_pair_begins_with_the_other(native_agent_library: Path) -> None:
    assert native_agent_library.exists()
    assert runs.interleaved(3) == [(False, True), (True, False), (False, True)]
    assert runs.cpu_us_per_write(20_000, 1, sampler=True) > 0
    assert runs.cpu_us_per_write(20_000, 1, sampler=False) > 0


def test_what_is_kept_is_shown_again(tmp_path: Path) -> None:
    own, sampler = ToldLatencies(1000, 6.5, 15.0, 73.0, 11_700.0), ToldLatencies(992, 6.6, 14.8, 72.0, 11_800.0)
    pairs = (Pair(5.0, 5.05), Pair(5.0, 4.95), Pair(5.0, 5.1))
    found = Measured(1.0, 2, 0.5, 1000, {1: pairs}, (HistogramsAgree("db_bench", 1, own, sampler),))
    FILE.write(tmp_path / "kept.json", found)
    assert FILE.read(tmp_path / "kept.json") == found
    shown = tables(found)
    assert "| 1 | 3 | 5.000 | 5.050 | 1.0100 (0.990 to 1.020) |" in shown
    assert "| db_bench | 1 | the agent's sampler | 992 | 6.6 µs | 14.8 µs | 72 µs | 11.8 ms |" in shown

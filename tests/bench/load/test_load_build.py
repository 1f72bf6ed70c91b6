"""Where the generator comes from, and what is said when it cannot be had; what its result file may not be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from adocd_bench.errors import ProgramMissing, RunFailed
from adocd_bench.evaluation.raw import LatencyHistogram
from adocd_bench.load.build import GENERATOR
from adocd_bench.load.result import read_result

from adocd.process import compiled


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it would be, for a user without a cache and without a compiler."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    return GENERATOR.product().kept(compiled.rocksdb())


def put(kept: Path, sources: str) -> None:
    kept.parent.mkdir(parents=True)
    kept.touch()
    kept.with_name("load.json").write_text(json.dumps({"sources": sources}))


def test_one_of_these_sources_is_taken(kept: Path) -> None:
    put(kept, compiled.digest(GENERATOR.sources))
    assert GENERATOR.find_or_build() == kept


@pytest.mark.parametrize("there", [False, True])
def test_else_it_is_compiled_and_what_that_needs_is_said(kept: Path, there: bool) -> None:
    if there:
        put(kept, "others")
    said: list[str] = []
    with pytest.raises(ProgramMissing, match=r"cmake, g\+\+, make, readelf missing; install: apt-get install g\+\+ "):
        GENERATOR.find_or_build(said.append)
    assert said == ["compiling the load generator, for about 20 seconds"]


def phase(**more: object) -> dict[str, object]:
    times = {"begin_monotonic_s": 5.0, "begin_unix_s": 1e9, "seconds": 2.0, "cpu_s": 1.0}
    return {"name": "run", "measured": True, **times, **more}


def result(tmp_path: Path, *phases: dict[str, object], **more: object) -> Path:
    file = tmp_path / "result.json"
    about = {"format": 1, "interrupted": False, "rocksdb_version": "7.8.3", "effective": {}}
    file.write_text(json.dumps({**about, "cpu_s": 3.0, "peak_rss_bytes": 7, "phases": phases, **more}))
    return file


def test_kinds_of_writes_are_added_up(tmp_path: Path) -> None:
    kinds = {
        "update": {"count": 3, "processing": {"buckets": [[1, 1, 2], [2048, 2049, 1]], "max_us": 2049}},
        "insert": {"count": 2, "processing": {"buckets": [[1, 1, 1], [5, 5, 1]], "max_us": 5}},
        "scan": {"count": 1, "processing": {"buckets": [[9, 9, 1]], "max_us": 9}},
    }
    row = {"at_s": 0, "longest_us": 2049, "update": 3, "insert": 2, "scan": 1}
    measured = read_result(result(tmp_path, phase(operations_by_kind=kinds, by_second=[row]))).measured
    writes, scans = measured.operations
    assert (writes.kind, writes.count, scans.kind, scans.count) == ("write", 5, "scan", 1)
    assert writes.processing == LatencyHistogram(((1, 1, 3), (5, 5, 1), (2048, 2049, 1)), 2049)
    (second,) = measured.raw_seconds
    assert (second.writes, second.reads, second.longest_us, second.offered) == (5, 1, 2049, None)


@pytest.mark.parametrize(
    ("reached", "drain_s"),
    [(True, 2.0), (False, None)],
)
def test_the_drain_after_the_measured_phase_is_the_one_that_counts(
    tmp_path: Path, reached: bool, drain_s: float | None
) -> None:
    def drain(seconds: float) -> dict[str, object]:
        return phase(measured=False, seconds=seconds, drain={"reached": reached, "pending_compaction_bytes": 0})

    assert read_result(result(tmp_path, drain(9), phase(), drain(2.0))).drain_s == drain_s
    assert read_result(result(tmp_path, drain(9), phase())).drain_s is None


def test_a_run_that_was_ended_before_its_measured_phase(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="ended before its measured phase"):
        _ = read_result(result(tmp_path, phase(measured=False), interrupted=True)).measured


def test_what_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="left no result"):
        read_result(tmp_path / "none.json")
    with pytest.raises(RunFailed, match=r"not a result of the load generator \(phases.0.seconds"):
        read_result(result(tmp_path, phase(seconds="long")))
    with pytest.raises(RunFailed, match="has format 2, this adocd reads 1"):
        read_result(result(tmp_path, phase(), format=2))

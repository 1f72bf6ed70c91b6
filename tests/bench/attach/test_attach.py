"""The bench of attaching: a short run on real programs, and what its tables show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from adocd_bench.attach.measured import FILE, AttachAndDetach, Host, LongestWrites, MeasuredAttaches, of_all, tables
from adocd_bench.attach.programs import writers
from adocd_bench.attach.runs import again_and_again
from adocd_bench.errors import RunFailed

TIMES = (
    AttachAndDetach(0.04, 1.2, 0.1, LongestWrites(5_000, 4_000, 900)),
    AttachAndDetach(0.05, 1.4, 0.2, LongestWrites(9_000, 6_000, 300)),
    AttachAndDetach(0.25, 1.9, 0.3, LongestWrites(7_000, 5_000, 200)),
)
WRITERS = Host("adocd-writers", 2, 400 << 20, TIMES)
DB_BENCH = Host("db_bench", 4, 1 << 30, tuple(replace(each, longest=None) for each in TIMES))


def test_tables_have_every_program_and_the_longest_writes_of_those_that_tell_them(tmp_path: Path) -> None:
    found = MeasuredAttaches(1.0, 2, 0.5, "7.8.3", (WRITERS, DB_BENCH))
    FILE.write(tmp_path / "kept.json", found)
    assert FILE.read(tmp_path / "kept.json") == found
    shown = tables(found).splitlines()
    assert "| adocd-writers | 2 | 400 MiB | 3 times | 50 ms (250 ms) | 1.4 s (1.9 s) | 200 ms (300 ms) |" in shown
    assert "| db_bench | 4 | 1 GiB | 3 times | 50 ms (250 ms) | 1.4 s (1.9 s) | 200 ms (300 ms) |" in shown
    assert shown[-1] == (
        "| 2 | 400 MiB | 300 µs, 900 µs, 900 µs | 7 ms, 9 ms, 9 ms | 5 ms, 6 ms, 6 ms |"
    )  # db_bench has no row there


def test_the_worst_of_two_hundred_is_not_their_99th_percentile() -> None:
    assert of_all(list(range(200, 0, -1))) == (100.5, 198, 200)


def test_a_program_that_writes_is_attached_to_and_tells_its_longest_write(
    disk: Path, native_agent_library: Path
) -> None:
    assert native_agent_library.exists()
    said: list[str] = []
    with writers(disk, 2, 50 << 20) as program:
        host = again_and_again(program, 2, said.append, settle_s=0.2)
        assert psutil.pid_exists(program.pid)
    assert (host.databases, len(host.times), len(said)) == (2, 2, 2)
    assert host.rss_bytes > 50 << 20
    for each in host.times:
        assert each.longest is not None
        assert min(each.longest.attach_us, each.longest.detach_us, each.longest.left_alone_us) > 0, "it did not write"


def test_a_database_that_is_not_found_ends_the_run(disk: Path, native_agent_library: Path) -> None:
    assert native_agent_library.exists()
    with writers(disk, 1, 1 << 20) as program:
        more = replace(program, databases=program.databases | {disk / "another"})
        with pytest.raises(RunFailed, match=r"another.* were found$"):
            again_and_again(more, 1, lambda _: None, settle_s=0)

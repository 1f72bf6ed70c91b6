"""The bench of a law that is attached late: what its table and its picture show of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from adocd_bench.attach.late import FILE, HeldWrites, LateDecision, LateRun, picture, table
from adocd_bench.errors import RunFailed

RUN = LateRun(
    began_unix_s=1.0,
    rocksdb_version="7.8.3",
    profile="cap-100",
    law="adoc",
    seconds=4,
    others_cpu=0.01,
    attached_at_s=4.0,
    attach_s=0.5,
    writes_by_second=(100, 50, 0, 50, 70, 80, 90, 130),
    held=(
        HeldWrites(1.5, 3.0, "stopped", "memtables"),
        HeldWrites(3.5, 6.0, "delayed", "level-0 files"),
    ),
    decisions=(LateDecision(5.0, "batch-up", "applied"), LateDecision(6.0, "batch-up", "applied")),
)


def test_the_table_has_whole_seconds_before_the_attachment_and_after_it(tmp_path: Path) -> None:
    FILE.write(tmp_path / "kept.json", RUN)
    assert FILE.read(tmp_path / "kept.json") == RUN
    shown = table(RUN).splitlines()
    assert shown[2] == "| alone | 50 | 0 | 1.5 s | 0.5 s |"
    # The second in which it was being attached counts for neither.
    assert shown[3] == "| with `adoc` attached | 100 | 80 | 0.0 s | 1.5 s |"


def test_the_picture_has_the_moment_of_the_attachment_and_each_decision() -> None:
    drawn = picture(RUN).render(alone=True)
    assert "adocd attach, law adoc" in drawn
    assert "writes stopped" in drawn
    without = picture(replace(RUN, decisions=())).render(alone=True)
    assert drawn.count("<line") - without.count("<line") == len(RUN.decisions)


def test_a_run_without_seconds_is_refused() -> None:
    with pytest.raises(RunFailed, match="reported no seconds"):
        table(replace(RUN, writes_by_second=()))

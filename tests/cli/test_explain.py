"""`adocctl explain`, without daemon or agent."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from adocd.model.printable import printable
from adocd.probes.log import read_log
from adocd.probes.log.dump_events import ColumnFamilyStats
from tests.diagnosis.logs import dumped, flushed, opened, stall
from tests.probes.log.lines import SAMPLES
from tests.probes.log.sources import Made, by_db_bench

from .harness import Done, command

COUNTED = {"delayed": "slowdowns", "stopped": "stops"}


def explain(*arguments: str | Path, run_dir: Path) -> Done:
    return command("adocctl", "explain", *map(str, arguments), run_dir=run_dir)


def as_json(path: Path, run_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(explain(path, "--json", run_dir=run_dir).ok())
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return by_db_bench(tmp_path_factory.mktemp("explain"))


def test_the_stalls_of_a_real_log(made: Made, tmp_path: Path) -> None:
    """As many as RocksDB counted in its last dump, of the same causes; and their time is RocksDB's or more."""
    found = as_json(made.directory, tmp_path)
    assert found["rocksdb_version"] == "7.8.3"
    assert found["unread_lines"] == 0
    assert found["events"]["flush_finished"] > 3
    stats = [event for event in read_log(made.log) if isinstance(event, ColumnFamilyStats)][-1]
    lines: Counter[str] = Counter()
    assert found["stalls"]
    for each in found["stalls"]:
        lines[f"{each['cause']}_{COUNTED[each['kind']]}"] += each["lines"]
        assert found["begin"] <= each["begin"] <= each["end"] <= found["end"]
        assert each["stalled_s"] <= each["end"] - each["begin"] + 1e-6
    counted = {
        name: count
        for name, count in stats.stall_counts.items()
        if name.startswith(("memtable", "l0", "pending")) and "with_compaction" not in name
    }
    print(f"lines {dict(lines)}, cfstats {counted}")
    print(f"stalled {found['stall_s']}, writers waited {found['stall_s_by_rocksdb']}")
    assert any(counted.values())
    # The last dump is some moments before the end of the LOG.
    assert all(count <= lines[name] for name, count in counted.items())
    assert {name for name, count in lines.items() if count > 2} <= {name for name, count in counted.items() if count}
    # Writers wake up some moments after the condition is gone.
    assert 0 < found["stall_s_by_rocksdb"] <= 1.2 * found["stalled_s"] + 0.2
    assert found["advice"]


def test_times_are_of_this_machines_zone(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of `decisions` are: who compares the two at night must not have to reckon."""
    monkeypatch.setenv("TZ", "IST-5:30")
    begin = datetime.fromtimestamp(as_json(made.directory, tmp_path)["begin"], timezone(timedelta(hours=5.5)))
    header = explain(made.directory, run_dir=tmp_path).ok().splitlines()[0]
    assert f", {begin:%Y-%m-%d %H:%M:%S} to " in header
    assert header.endswith(" IST")


def test_a_person_sees_what_to_do(made: Made, tmp_path: Path) -> None:
    shown = explain(made.directory, run_dir=tmp_path).ok()
    for words in ("RocksDB 7.8.3", "Writes were slowed or stopped for", "Over time", "What would likely help", "█"):
        assert words in shown


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_sample(sample: Path, tmp_path: Path) -> None:
    found = as_json(sample, tmp_path)
    assert found["rocksdb_version"] == sample.stem.removeprefix("rocksdb-")
    assert found["stall_s_by_rocksdb"] == {"6.29.5": 0, "7.8.3": 0.917, "9.8.4": 3.815}[found["rocksdb_version"]]
    assert sum(stall["lines"] for stall in found["stalls"]) == found["events"].get("stall", 0)
    assert explain(sample, run_dir=tmp_path).ok()


def test_a_directory_has_rotated_ones(tmp_path: Path) -> None:
    because = "we have 4 level-0 files rate 8388608"
    (tmp_path / "LOG.old.1").write_bytes(opened() + stall(1, because) + flushed(3))
    (tmp_path / "LOG").write_bytes(opened(at_s=100) + stall(110, because) + flushed(111) + dumped(120, 0.5, 0.5, 20))
    assert as_json(tmp_path, tmp_path)["stall_s"]["l0"] == pytest.approx(3)
    assert as_json(tmp_path / "LOG", tmp_path)["stall_s"]["l0"] == pytest.approx(1)
    assert as_json(tmp_path / "LOG.old.1", tmp_path)["stall_s"]["l0"] == pytest.approx(2)


def test_a_part_of_a_log_works(tmp_path: Path) -> None:
    whole = SAMPLES[1].read_bytes()
    (tmp_path / "part").write_bytes(whole[len(whole) // 3 : -1000])
    found = as_json(tmp_path / "part", tmp_path)
    assert found["rocksdb_version"] is None
    assert found["stalls"]
    assert explain(tmp_path / "part", run_dir=tmp_path).ok()


def test_what_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("Dear diary,\nnothing stalled.\n")
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 64)
    explain(tmp_path / "nowhere", run_dir=tmp_path).failed(4, "there is no file", "nowhere")
    explain(tmp_path, run_dir=tmp_path).failed(4, "no LOG in it")
    explain(tmp_path / "empty", run_dir=tmp_path).failed(1, "is empty")
    for name in ("text", "binary"):
        explain(tmp_path / name, run_dir=tmp_path).failed(1, "is not a RocksDB LOG")
    (tmp_path / "LOG").mkdir()
    explain(tmp_path, run_dir=tmp_path).failed(1, "cannot be read")


def test_a_name_does_not_paint_the_terminal(tmp_path: Path) -> None:
    """What a LOG says is shown as it stands there: no markup, and no control characters."""
    because = "we have 4 level-0 files rate 8388608"
    log = tmp_path / "LOG\x1b[31m"
    log.write_bytes(
        opened() + stall(1, because, family="x\x1b[31m") + stall(1, because, family="bold") + flushed(3, family="bold")
    )
    shown = explain(log, run_dir=tmp_path).ok()
    assert printable("x\x1b[31m") in shown, "the name is shown"
    assert "bold" in shown
    assert "\x1b" not in shown


def test_times_that_go_back_are_said(tmp_path: Path) -> None:
    """Stray lines that are two days older, as in the LOGs of RocksDB's tools/advisor."""
    because = "we have 4 level-0 files rate 8388608"
    log = tmp_path / "LOG"
    log.write_bytes(opened() + stall(10, because) + stall(-172800, because) + flushed(12) + flushed(100))
    output = explain(log, run_dir=tmp_path).ok()
    assert "Times go back at line 5, from 20" in output
    assert "slowed or stopped for 2 s of 100 s, 2% of the time" in " ".join(output.split())

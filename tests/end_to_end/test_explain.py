"""`adocctl explain` of a live target: its LOG, its device and its process together, and what is left without a LOG."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.harness import command, serving
from tests.end_to_end.test_main_job import PROGRAMS
from tests.support.waiting import eventually

DB_BENCH = PROGRAMS[0]


def explained(run_dir: Path, *target: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command("adocctl", "explain", *target, "--json", run_dir=run_dir).ok())
    return found


def has_target(run_dir: Path) -> bool:
    return bool(json.loads(command("adocctl", "targets", "--json", run_dir=run_dir).ok())["targets"])


def stalls_with_surroundings(run_dir: Path) -> bool:
    return has_target(run_dir) and any(stall["around"] for stall in explained(run_dir)["longest"])


def status_with_surroundings(run_dir: Path) -> Any:
    status = json.loads(command("adocctl", "status", "--json", run_dir=run_dir).ok())
    return status if status["sample"] and status["sample"]["surroundings"] else None


def test_a_live_database(run_dir: Path, native_agent_library: Path) -> None:
    with serving(run_dir), DB_BENCH.running(run_dir):
        eventually(lambda: stalls_with_surroundings(run_dir), what="a stall is explained")
        found = explained(run_dir)
        assert (found["source"], found["rocksdb_version"]) == ("LOG", "7.8.3")
        assert found["path"] == str(run_dir / "db")
        assert found["events"]["stall"] > 0
        around = next(stall["around"] for stall in found["longest"] if stall["around"])
        assert around["cpu_cores"] > 0
        assert around["cpu_limit_cores"] >= 1
        shown = command("adocctl", "explain", found["target"], run_dir=run_dir).ok()
        assert "Around it: " in shown
        assert "the process used" in shown
        status = eventually(lambda: status_with_surroundings(run_dir), what="a sample that was looked around in time")
        assert status["sample"]["surroundings"]["process"]["pools"]["low"]["threads"] >= 1
        assert status["around"]
    command("adocctl", "explain", "nowhere", run_dir=run_dir).failed(4, "no file 'nowhere'", "no daemon answers")


def test_a_database_whose_log_is_gone(run_dir: Path, native_agent_library: Path) -> None:
    """Nobody can read it any more, so that what the agent tells has to do."""
    with DB_BENCH.running(run_dir):
        eventually((run_dir / "db" / "CURRENT").exists, what="db_bench has opened its database")
        with serving(run_dir):
            eventually(lambda: has_target(run_dir), what="it is attached")
            for log in (run_dir / "db").glob("LOG*"):
                log.unlink()
        with serving(run_dir):
            eventually(lambda: stalls_with_surroundings(run_dir), what="a stall is explained")
            found = explained(run_dir)
            assert found["source"] == "agent"
            assert found["stall_s"]["memtable"] > 0
            assert found["events"]["flush_finished"] > 0
            assert found["longest"][0]["led"]["options"]["write_buffer_size"] == str(1 << 20)
            shown = command("adocctl", "explain", run_dir=run_dir).ok()
            assert "From what its agent tells" in shown

"""The rocksdict program that attaches the Python agent."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rocksdict import Options, Rdict

from tests.cli.harness import serving
from tests.conftest import REPOSITORY
from tests.examples.running import attached, ctrl_c, said, started
from tests.support.waiting import eventually

PROGRAM = REPOSITORY / "examples" / "rocksdict" / "ingest.py"


def written(ingest: subprocess.Popen[str], run_dir: Path) -> None:
    """Wait until it has written a good deal."""
    eventually(lambda: "100000 readings" in said(run_dir) or ingest.poll() is not None, what="it writes")
    assert "100000 readings" in said(run_dir), said(run_dir)


def threads(process: subprocess.Popen[str], pool: str) -> int:
    """Count its threads of one of RocksDB's pools."""
    names = [path.read_text().strip() for path in Path(f"/proc/{process.pid}/task").glob("*/comm")]
    return names.count(f"rocksdb:{pool}")


def test_it_is_attached_to_and_closes_at_ctrl_c(run_dir: Path) -> None:
    with (
        serving(run_dir, "--policy", "adoc", "--dry-run"),
        started([sys.executable, PROGRAM, run_dir / "db"], run_dir) as ingest,
    ):
        target = attached(ingest, run_dir)
        assert target["process"]["pid"] == ingest.pid
        assert target["path"] == str(run_dir / "db")
        written(ingest, run_dir)
        assert (threads(ingest, "low"), threads(ingest, "high")) == (1, 1), "as without max_background_jobs"
        assert ctrl_c(ingest) == 0, said(run_dir)
    assert f"agent: {run_dir}/agent-" in said(run_dir)
    assert said(run_dir).endswith("closing\n")
    assert not list(run_dir.glob("agent-*.sock"))


def test_it_runs_without_an_agents_run_directory(run_dir: Path) -> None:
    missing = str(run_dir / "none")
    with started([sys.executable, PROGRAM, run_dir / "db"], run_dir, ADOCD_RUN_DIR=missing) as ingest:
        written(ingest, run_dir)
        assert ctrl_c(ingest) == 0, said(run_dir)
    assert missing in said(run_dir)


def test_its_database_gets_no_larger_than_asked_for(run_dir: Path) -> None:
    with started([sys.executable, PROGRAM, run_dir / "db", "0.001"], run_dir) as ingest:
        written(ingest, run_dir)
        assert ctrl_c(ingest) == 0, said(run_dir)
    database = Rdict(str(run_dir / "db"), Options(raw_mode=True))
    assert len(list(database.keys())) == 1000
    database.close()

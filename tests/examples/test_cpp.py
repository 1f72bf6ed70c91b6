"""The C++ program that links the agent."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from rocksdict import Options, Rdict

from tests.cli.harness import serving
from tests.conftest import REPOSITORY
from tests.examples.running import attached, ctrl_c, said, started
from tests.support.waiting import eventually

SOURCES = REPOSITORY / "examples" / "cpp"


@pytest.fixture(scope="module")
def program(native_agent_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it against an agent that is installed like any library."""
    prefix, build = tmp_path_factory.mktemp("prefix"), tmp_path_factory.mktemp("build")
    (prefix / "lib").mkdir()
    shutil.copy(native_agent_library, prefix / "lib")
    shutil.copytree(REPOSITORY / "agents" / "native" / "include", prefix / "include")
    for step in (["-S", SOURCES, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"], ["--build", build]):
        done = subprocess.run(["cmake", *map(str, step)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return build / "ingest"


def test_it_is_attached_to(run_dir: Path, program: Path) -> None:
    with serving(run_dir, "--policy", "adoc", "--dry-run"), started([program, run_dir / "db"], run_dir) as ingest:
        target = attached(ingest, run_dir)
        assert target["process"]["program"] == "ingest"
        assert target["path"] == str(run_dir / "db")
        assert ctrl_c(ingest) == 0
    assert "writing to" in said(run_dir)
    assert "no agent" not in said(run_dir)


def test_it_runs_without_an_agents_run_directory(run_dir: Path, program: Path) -> None:
    with started([program, run_dir / "db"], run_dir, ADOCD_RUN_DIR=str(run_dir / "none")) as ingest:
        while "writing to" not in said(run_dir):
            assert ingest.poll() is None
        assert ctrl_c(ingest) == 0
    assert "no agent: ADOCD_RUN_DIR is" in said(run_dir)


def test_it_takes_a_size(run_dir: Path, program: Path) -> None:
    assert subprocess.run([program, run_dir / "db", "none"], capture_output=True, check=False).returncode == 2
    with started([program, run_dir / "db", "0.001"], run_dir) as ingest:
        eventually(lambda: "100000 readings" in said(run_dir), what="it writes")
        assert ctrl_c(ingest) == 0
    database = Rdict(str(run_dir / "db"), Options(raw_mode=True))
    assert len(list(database.keys())) == 1000
    database.close()

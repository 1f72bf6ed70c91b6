"""db_bench under `adocd exec`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.harness import serving
from tests.conftest import REPOSITORY
from tests.examples.running import attached, ctrl_c, said, started
from tests.support.waiting import eventually

SCRIPT = REPOSITORY / "examples" / "db_bench" / "fill.sh"


def test_it_is_attached_to_and_leaves_nothing(run_dir: Path, native_agent_library: Path) -> None:
    with serving(run_dir, "--policy", "adoc", "--dry-run"), started([SCRIPT], run_dir, TMPDIR=str(run_dir)) as fill:
        assert attached(fill, run_dir)["process"]["program"] == "db_bench"
        assert list(run_dir.glob("adocd-fill.*"))
        assert ctrl_c(fill) == 130
    assert not list(run_dir.glob("adocd-fill.*"))


def test_kill_ends_it(run_dir: Path, native_agent_library: Path) -> None:
    with started([SCRIPT], run_dir, TMPDIR=str(run_dir)) as fill:
        eventually(lambda: list(run_dir.glob("adocd-fill.*/CURRENT")), what="db_bench has its database")
        fill.terminate()
        assert fill.wait(60) == 143, said(run_dir)
        with pytest.raises(ProcessLookupError):
            os.killpg(fill.pid, 0)
    assert not list(run_dir.glob("adocd-fill.*"))


def test_it_ends_by_itself(run_dir: Path, native_agent_library: Path) -> None:
    with started([SCRIPT, "1"], run_dir, TMPDIR=str(run_dir)) as fill:
        assert fill.wait(60) == 0, said(run_dir)
    assert "fillrandom" in said(run_dir)
    assert not list(run_dir.glob("adocd-fill.*"))

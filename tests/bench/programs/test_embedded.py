"""The embedded workload: what it starts, and what it makes of the program's report."""

import sys
from pathlib import Path

import pytest
from adocd_bench.errors import RunFailed
from adocd_bench.programs.embedded import Embedded, find_embedded
from adocd_bench.programs.fill import Fill

from tests.conftest import REPOSITORY

WORKLOAD = Embedded("9.8.4", Path("/agents/python"))


def test_it_is_found_with_the_version_of_its_rocksdb() -> None:
    found = find_embedded()
    assert found.agent == REPOSITORY / "agents" / "python"
    assert found.rocksdb_version.count(".") == 2


def test_the_command_needs_nothing_but_python_and_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    fill = Fill(Path("/data/db"), seconds=60, seed=77, report=Path("/run/r.csv"))
    command = [sys.executable, "-m", "adocd_bench.programs.embedded_program", "/data/db", "60", "77", "/run/r.csv"]
    assert WORKLOAD.command(fill) == command
    assert WORKLOAD.environment() == {"PYTHONPATH": "/agents/python"}
    monkeypatch.setenv("PYTHONPATH", "/mine")
    assert WORKLOAD.environment() == {"PYTHONPATH": "/agents/python:/mine"}


def test_its_result_is_the_last_line() -> None:
    report = WORKLOAD.report('hello\n{"writes": 3000, "seconds": 1.5}\n', 1)
    assert (report.writes, report.seconds, report.writes_per_s) == (3000, 1.5, 2000.0)


@pytest.mark.parametrize("text", ["", "Traceback\nOSError: no space", "{}", "[1]", '{"writes": 1, "seconds": 0}'])
def test_no_result_says_what_was_said_last(text: str) -> None:
    with pytest.raises(RunFailed, match="reported no result; the last it said was: "):
        WORKLOAD.report(text, 60)

"""Whatever is wrong with the agent, the program goes on, and hears of it in one line at most."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.java.conftest import StartJvm
from tests.support.agent_client import AgentClient
from tests.support.java import java_command
from tests.support.programs import Program, environment
from tests.support.waiting import eventually


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("=agent=off", ""),
        (
            "=run_dir=/nonexistent",
            "adocd agent: ADOCD_RUN_DIR is '/nonexistent', which is no directory this process may",
        ),
        ("=run_dir=relative", "adocd agent: ADOCD_RUN_DIR must be a whole path, not 'relative'"),
    ],
)
def test_settings_that_keep_it_away(java_agent: Path, run_dir: Path, tmp_path: Path, settings: str, said: str) -> None:
    with Program(java_command(Path(f"{java_agent}{settings}")), environment(None, run_dir)) as program:
        program.ask("open", tmp_path / "db")
        program.ask("put", tmp_path / "db", 10)
        if said:
            eventually(program.stderr, what="the reason")
        assert program.finish() == 0
        assert program.stderr().startswith(said)
        assert program.stderr().count("\n") == bool(said)
        assert not list(run_dir.iterdir())


def test_a_jvm_without_rocksdb_has_no_socket(start_jvm: StartJvm, run_dir: Path) -> None:
    start_jvm().ask("sleep", 50)
    assert not list(run_dir.iterdir())


def test_the_end_of_the_process_under_readers(start_jvm: StartJvm, run_dir: Path, tmp_path: Path) -> None:
    """With databases open, and while they are read: RocksDB's statics go, and no call of the agent may meet that."""
    for _ in range(5):
        program = start_jvm()
        program.ask("open", tmp_path / "db", "statistics=yes")
        socket_path = run_dir / f"agent-{program.pid}.sock"
        eventually(socket_path.exists, what="the socket")
        with AgentClient(socket_path) as client:
            db = client.only_database()["id"]
            for _ in range(3):
                client.fresh_snapshot(db)
            program.send("exit")
            assert program.process.wait(timeout=20) == 0, program.stderr()
        assert program.stderr() == ""

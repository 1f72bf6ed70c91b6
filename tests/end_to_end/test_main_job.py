"""The main job: a program is kept out of stalls from outside; one nobody can recompile, and one with rocksdict."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.harness import NOWHERE, Running, command, log_of, serving, start
from tests.support.agent_client import AgentClient
from tests.support.waiting import always, eventually

MIB = 1 << 20


def stock_db_bench(run_dir: Path, env: Mapping[str, str]) -> Running:
    """Write into small memtables that overflow at once.

    Its rate is limited, so that a stall ends soon when the small memtables are back: SetOptions waits for it.
    """
    return start(
        "adocd", "exec", "--", "db_bench",
        "--benchmarks=fillrandom", f"--db={run_dir / 'db'}", "--value_size=1000", "--compression_type=none",
        "--num=100000000", "--duration=60", f"--write_buffer_size={MIB}", "--benchmark_write_rate_limit=20000000",
        env=env, out=NOWHERE, err=NOWHERE,
    )  # fmt: skip


def python_program(run_dir: Path, env: Mapping[str, str]) -> Running:
    """Write through rocksdict, in bursts that overflow small memtables at once, under the Python agent."""
    command = [sys.executable, "-m", "tests.chaos.python_writer", str(run_dir / "db"), "5000"]
    process = subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdin is not None
    process.stdin.write("open own\n")
    process.stdin.flush()
    return process


@dataclass(frozen=True)
class Writing:
    """A program that stalls, under its agent."""

    name: str
    start: Callable[[Path, Mapping[str, str]], Running]
    #: Whether its thread pools are the knob for threads, and so are put back.
    tunes_pools: bool

    @contextlib.contextmanager
    def running(self, run_dir: Path) -> Iterator[None]:
        """Run it while the block runs."""
        process = self.start(run_dir, dict(os.environ) | {"ADOCD_RUN_DIR": str(run_dir)})
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            if isinstance(process, subprocess.Popen) and process.stdin is not None:
                process.stdin.close()

    def differing(self, now: Any, originals: Any) -> dict[str, tuple[str, str]]:
        """Find what is not as it was.

        Not counted is what RocksDB 7.8 cannot take back: its thread pools never shrink with max_background_jobs, and
        any effective SetDBOptions makes a bytes_per_sync of 0 one of 1 MiB for good.
        """
        scopes = [(now["database"], originals["database"])]
        scopes += [(now["column_families"][name], options) for name, options in originals["column_families"].items()]
        scopes += [(now["thread_pools"], originals["thread_pools"])] if self.tunes_pools else []
        return {
            name: (new[name], old[name])
            for new, old in scopes
            for name in old
            if new[name] != old[name] and name != "bytes_per_sync"
        }

    def changed(self, run_dir: Path) -> bool:
        """Ask the daemon whether anything is tuned; where it does not know, nothing is."""
        return bool(self.tuned(run_dir))

    def original(self, run_dir: Path) -> bool:
        """Ask the daemon whether all is as it was; where it does not know, it is not."""
        return self.tuned(run_dir) == {}

    def tuned(self, run_dir: Path) -> dict[str, tuple[str, str]] | None:
        """Ask the daemon what is not as it was; None where it does not know."""
        shown = status(run_dir)
        return self.differing(shown["options"], shown["originals"]) if shown and shown["options"] else None


PROGRAMS = [Writing("db_bench", stock_db_bench, False), Writing("python", python_program, True)]


@pytest.fixture(params=PROGRAMS, ids=[program.name for program in PROGRAMS])
def program(request: pytest.FixtureRequest, native_agent_library: Path) -> Writing:
    """Name a program under each agent."""
    chosen: Writing = request.param
    return chosen


def status(run_dir: Path) -> Any:
    done = command("adocctl", "status", "--json", run_dir=run_dir)
    return json.loads(done.out) if done.status == 0 else None


def test_a_program_that_stalls_is_tuned_and_given_back(run_dir: Path, program: Writing) -> None:
    with program.running(run_dir), serving(run_dir, "--policy", "adoc"):
        eventually(lambda: program.changed(run_dir), what="options are tuned")
        assert status(run_dir)["process"]["pid"]
        decisions = json.loads(command("adocctl", "decisions", "--json", run_dir=run_dir).ok())
        assert {decision["rule"].partition(".")[0] for decision in decisions} <= {"adoc", "actuator"}
        assert "applied" in {decision["outcome"] for decision in decisions}
        command("adocctl", "restore", "--all", run_dir=run_dir).ok()
        eventually(lambda: program.original(run_dir), what="the originals are back")
    assert "Traceback" not in log_of(run_dir)


def test_a_daemon_that_is_killed_is_undone_by_the_agent(run_dir: Path, program: Writing) -> None:
    config = run_dir / "adocd.toml"
    config.write_text("[daemon]\nlease_ttl_s = 3\n")
    with program.running(run_dir):
        with serving(run_dir, "--policy", "adoc", "--config", str(config)) as daemon:
            eventually(lambda: program.changed(run_dir), what="options are tuned")
            daemon.kill()
            daemon.wait()
        (socket,) = run_dir.glob("agent-*.sock")
        with AgentClient(socket) as agent:
            database = agent.only_database()
            originals = agent.database(database["id"])["originals"]
            eventually(
                lambda: not program.differing(agent.snapshot(database["id"])["options"], originals),
                what="the lease lapses and the agent restores the originals",
            )


def test_dry_run_changes_nothing(run_dir: Path, program: Writing) -> None:
    with program.running(run_dir), serving(run_dir, "--policy", "adoc", "--dry-run"):
        eventually(lambda: (status(run_dir) or {}).get("decisions", 0) > 0, what="decisions are taken")
        # One that was sent would take a moment to show.
        always(lambda: program.original(run_dir), for_s=3, every_s=0.3, what="nothing is changed")
        assert status(run_dir)["lease"] is None

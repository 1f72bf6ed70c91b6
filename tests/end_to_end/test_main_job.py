"""The main job: a program nobody can recompile, stock db_bench, is kept out of stalls from outside its process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cli.harness import BIN, command, log_of, serving
from tests.support.agent_client import AgentClient
from tests.support.waiting import eventually

MIB = 1 << 20


@contextlib.contextmanager
def db_bench(run_dir: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run stock db_bench under the agent, writing into small memtables that overflow at once.

    Its rate is limited, so that a stall ends soon when the small memtables are back: SetOptions waits for it.
    """
    arguments = [
        "--benchmarks=fillrandom", f"--db={run_dir / 'db'}", "--value_size=1000", "--compression_type=none",
        "--num=100000000", "--duration=60", f"--write_buffer_size={MIB}", "--benchmark_write_rate_limit=20000000",
        *flags,
    ]  # fmt: skip
    process = subprocess.Popen(
        [str(BIN / "adocd"), "exec", "--", "db_bench", *arguments],
        env=dict(os.environ) | {"ADOCD_RUN_DIR": str(run_dir)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def status(run_dir: Path) -> Any:
    done = command("adocctl", "status", "--json", run_dir=run_dir)
    return json.loads(done.out) if done.status == 0 else None


def differing(now: Any, originals: Any) -> dict[str, tuple[str, str]]:
    """Options that are not as they were.

    Not counted is what RocksDB 7.8 cannot take back: thread pools never shrink, and any effective SetDBOptions makes
    a bytes_per_sync of 0 one of 1 MiB for good.
    """
    scopes = [(now["database"], originals["database"])]
    scopes += [(now["column_families"][name], options) for name, options in originals["column_families"].items()]
    return {
        name: (new[name], old[name])
        for new, old in scopes
        for name in old
        if new[name] != old[name] and name != "bytes_per_sync"
    }


def changed(run_dir: Path) -> bool:
    shown = status(run_dir)
    return bool(shown and shown["options"] and differing(shown["options"], shown["originals"]))


def test_a_stalling_db_bench_is_tuned_and_given_back(run_dir: Path, native_agent_library: Path) -> None:
    with db_bench(run_dir), serving(run_dir, "--policy", "adoc"):
        eventually(lambda: changed(run_dir), within_s=30, what="options are tuned")
        detail = status(run_dir)
        assert detail["process"]["program"] == "db_bench"
        decisions = json.loads(command("adocctl", "decisions", "--json", run_dir=run_dir).ok())
        assert {decision["rule"].partition(".")[0] for decision in decisions} <= {"adoc", "actuator"}
        assert "applied" in {decision["outcome"] for decision in decisions}
        command("adocctl", "restore", "--all", run_dir=run_dir).ok()
        eventually(lambda: not changed(run_dir), within_s=20, what="the originals are back")
    assert "Traceback" not in log_of(run_dir)


def test_a_daemon_that_is_killed_is_undone_by_the_agent(run_dir: Path, native_agent_library: Path) -> None:
    with db_bench(run_dir):
        with serving(run_dir, "--policy", "adoc") as daemon:
            eventually(lambda: changed(run_dir), within_s=30, what="options are tuned")
            daemon.kill()
            daemon.wait()
        (socket,) = run_dir.glob("agent-*.sock")
        with AgentClient(socket) as agent:
            database = agent.only_database()
            originals = agent.database(database["id"])["originals"]
            eventually(
                lambda: not differing(agent.snapshot(database["id"])["options"], originals),
                within_s=30,
                what="the lease lapses and the agent restores the originals",
            )


def test_dry_run_changes_nothing(run_dir: Path, native_agent_library: Path) -> None:
    with db_bench(run_dir), serving(run_dir, "--policy", "adoc", "--dry-run"):
        eventually(lambda: (status(run_dir) or {}).get("decisions", 0) > 1, within_s=30, what="decisions are taken")
        assert not changed(run_dir)
        assert status(run_dir)["lease"] is None

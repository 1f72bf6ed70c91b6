"""A process whose cgroup allows few threads: RocksDB would end it where it could not start one."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.cli.harness import command, environment_of, no_traceback, quickly_serving, wait_for_target
from tests.support.pids_group import pids_group
from tests.support.waiting import eventually

#: Goes on until its standard input ends.
PROGRAM = """
import sys
import adocd_agent
from rocksdict import Options, Rdict

options = Options(raw_mode=True)
options.set_max_background_jobs(40)
database = Rdict(sys.argv[1], options)
adocd_agent.attach(database, options)
sys.stdin.read()
"""
#: Its pool has 30 threads from the open on.
PIN = ("override", "set", "thread_pool_low=60")


@contextlib.contextmanager
def host(run_dir: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(run_dir / "db")],
        env=environment_of(run_dir),
        stdin=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_no_thread_is_added_where_the_cgroup_has_none_left(run_dir: Path) -> None:
    with pids_group() as group, host(run_dir) as process:
        (group / "cgroup.procs").write_text(str(process.pid))
        with quickly_serving(run_dir):
            wait_for_target(run_dir)
            used = int((group / "pids.current").read_text())
            assert used > 1, "its threads count"
            (group / "pids.max").write_text(str(used + 10))
            refused = command("adocctl", *PIN, run_dir=run_dir)
            why = f"thread_pool_low 60 can start 30 more threads; of the {used + 10} that its cgroup allows 10 are left"
            refused.failed(5, "thread shortage", why)
            assert process.poll() is None
            (group / "pids.max").write_text(str(used + 100))
            command("adocctl", *PIN, run_dir=run_dir).ok()
            eventually(lambda: int((group / "pids.current").read_text()) >= used + 30, what="the threads are there")
            assert process.poll() is None
    no_traceback(run_dir)

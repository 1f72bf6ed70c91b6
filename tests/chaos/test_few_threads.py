"""A process whose cgroup allows few threads: RocksDB would end it where it could not start one."""

from __future__ import annotations

from pathlib import Path

from tests.cli.harness import command, no_traceback, quickly_serving, wait_for_target
from tests.support.observed import rocksdict_program
from tests.support.pids_group import pids_group
from tests.support.waiting import eventually

#: Its pool has 30 threads from the open on.
OPENED = "max_background_jobs=40"
PIN = ("override", "set", "thread_pool_low=60")


def test_no_thread_is_added_where_the_cgroup_has_none_left(run_dir: Path) -> None:
    with pids_group() as group, rocksdict_program(run_dir) as program:
        program.ask("open", run_dir / "db", OPENED)
        (group / "cgroup.procs").write_text(str(program.pid))
        with quickly_serving(run_dir):
            wait_for_target(run_dir)
            used = int((group / "pids.current").read_text())
            assert used > 1, "its threads count"
            (group / "pids.max").write_text(str(used + 10))
            refused = command("adocctl", *PIN, run_dir=run_dir)
            why = f"thread_pool_low 60 can start 30 more threads; of the {used + 10} that its cgroup allows 10 are left"
            refused.failed(5, "thread shortage", why)
            assert program.process.poll() is None
            (group / "pids.max").write_text(str(used + 100))
            command("adocctl", *PIN, run_dir=run_dir).ok()
            eventually(lambda: int((group / "pids.current").read_text()) >= used + 30, what="the threads are there")
            assert program.process.poll() is None
    no_traceback(run_dir)

"""The journal's disk full at the very first start, and somebody at its files: the daemon goes on and mends it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.daemon import Daemon
from tests.cli.harness import no_traceback
from tests.daemon.harness import overflowing
from tests.support import full_disk
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import always, eventually

MIB = 1 << 20
ADOC = ("--policy", "adoc")


def batch(database: FakeDatabase) -> str:
    return database.options.column_families["default"]["write_buffer_size"]


def sentence(daemon: Daemon) -> str:
    return "".join(target["sentence"] for target in daemon.ask("GET", "/v1/targets")["targets"])


def journal(daemon: Daemon) -> Any:
    return daemon.ask("GET", "/v1/targets")["journal"]


def test_a_first_start_on_a_full_disk(run_dir: Path) -> None:
    state = run_dir / "state"
    state.mkdir()
    if not full_disk.can_mount(state):
        pytest.skip("only root can mount a small disk, and not in every container")
    full: list[str | Path] = ["sh", "-c", 'cat /dev/zero > "$0/ballast" 2> /dev/null; exec "$@"', state]
    daemon = Daemon(run_dir, *ADOC, before=[*full_disk.on_small_disk(state), *full])
    daemon.environment = {"STATE_DIRECTORY": str(state)}
    database = overflowing(run_dir / "db")
    with FakeAgent(run_dir, [database]), daemon.running():
        eventually(lambda: "the disk is full" in sentence(daemon), what="it says why it changes nothing")
        assert "cannot be written: the disk is full" in journal(daemon)["problem"]
        always(lambda: batch(database) == str(64 * MIB), for_s=1.5, what="nothing is changed")
        full_disk.make_room(full_disk.seen_by(daemon.pid, state))
        eventually(lambda: batch(database) != str(64 * MIB), what="with room it acts")
        assert journal(daemon) == {**journal(daemon), "problem": None, "rescued": None}
    no_traceback(run_dir)


def test_originals_outlive_a_journal_that_is_overwritten_while_both_run(run_dir: Path) -> None:
    """Truncated under the daemon; then daemon and database die, and the host reloads its OPTIONS file."""
    path = run_dir / "journal.sqlite"
    database = overflowing(run_dir / "db")
    daemon = Daemon(run_dir, *ADOC)
    with FakeAgent(run_dir, [database]), daemon.running():
        eventually(lambda: batch(database) != str(64 * MIB), what="it is tuned")
        os.truncate(path, 0)
        os.truncate(path.with_name("journal.sqlite-wal"), 0)
        said = eventually(lambda: journal(daemon)["rescued"], what="it is noticed")
        assert "was truncated by somebody else" in said
        assert "a new one begins with what the daemon remembers: " in said
        daemon.kill()
    database.reopen(keep_options=True)
    assert batch(database) != str(64 * MIB)
    with FakeAgent(run_dir, [database]), Daemon(run_dir).running():
        eventually(lambda: batch(database) == str(64 * MIB), what="it is put back")

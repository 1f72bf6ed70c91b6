"""The disk of the journal full while a law acts: what cannot be written down is not done, what undoes always is."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.daemon import Daemon
from tests.chaos.figures import Figures
from tests.chaos.hosts import LAW, DbBench, agent_of, running
from tests.chaos.options import differing, until_nothing_differs
from tests.cli.harness import command, no_traceback
from tests.support import full_disk
from tests.support.agent_client import AgentClient
from tests.support.waiting import eventually

pytestmark = pytest.mark.chaos

Json = Any
#: Two periods of the law and more, which wants something in each.
LOOK_S = 2.5


def test_what_cannot_be_journaled_is_not_done(run_dir: Path, figures: Figures) -> None:
    """New changes stop, the daemon says why, a restore works all the same; with room again everything goes on."""
    state = run_dir / "state"
    state.mkdir()
    if not full_disk.can_mount(state):
        pytest.skip("only root can mount a small disk, and not in every container")
    daemon = Daemon(run_dir, *LAW, lease_ttl_s=2, before=full_disk.on_small_disk(state))
    daemon.environment = {"STATE_DIRECTORY": str(state)}
    # Memtables overflow at this rate however large they get, so the law has something to do all the time.
    with running(DbBench(run_dir, keys_per_s=20_000)) as host, agent_of(run_dir, host.pid) as agent, daemon.running():
        disk = full_disk.seen_by(daemon.pid, state)
        changes = Changes(agent)
        changes.wait_for_more()
        full_disk.fill(disk)
        eventually(lambda: says_full(daemon), what="the daemon says that the disk is full")
        refused = json.loads(command("adocctl", "status", "--json", run_dir=run_dir).ok())["sentence"]
        seen = looks(daemon)
        assert not changes.leading_away(LOOK_S), "something was changed that the journal does not know"
        eventually(lambda: looks(daemon) > seen + 1, what="the daemon goes on")
        eventually(lambda: says_full(daemon), what="the law still wants what cannot be written down")
        full_disk.make_room(disk)
        changes.wait_for_more()

        full_disk.fill(disk)
        eventually(lambda: says_full(daemon), what="the daemon says that the disk is full")
        assert changes.differing(), "there is something to put back"
        command("adocctl", "restore", "--all", run_dir=run_dir).ok()
        until_nothing_differs(changes.differing, 20)
        full_disk.make_room(disk)
        command("adocctl", "set-policy", "adoc", "--set", "batch_min_bytes=1048576", run_dir=run_dir).ok()
        changes.wait_for_more()
    no_traceback(run_dir)
    figures.add("the journal's disk full", refused)


class Changes:
    """The changes that the agent has carried out."""

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent
        self._database: str = agent.only_database()["id"]
        self._originals = agent.database(self._database)["originals"]
        self._cursor = agent.fresh_snapshot(self._database)["last_event"]

    def more(self) -> int:
        """Count those since it was asked the last time."""
        snapshot = self._agent.fresh_snapshot(self._database, self._cursor)
        self._cursor = snapshot["last_event"]
        assert snapshot["lost_events"] == 0
        return sum(event["kind"] == "options_changed" for event in snapshot["events"])

    def leading_away(self, for_s: float) -> dict[str, tuple[str, str]]:
        """Find values that are new in the time to come, and no originals: going back is always allowed."""
        new: dict[str, tuple[str, str]] = {}
        known, until_s = self.differing(), time.monotonic() + for_s
        while time.monotonic() < until_s:
            new |= {name: values for name, values in self.differing().items() if known.get(name) != values}
            time.sleep(0.05)
        return new

    def wait_for_more(self) -> None:
        """Wait until there is another."""
        self.more()
        eventually(self.more, every_s=0.1, what="the law changes something")

    def differing(self) -> dict[str, tuple[str, str]]:
        """Find what is not as it was."""
        now = self._agent.fresh_snapshot(self._database)["options"]
        return differing(now, self._originals, pools=False)


def looks(daemon: Daemon) -> int:
    """Return the number of the only database's last sample."""
    (target,) = daemon.ask("GET", "/v1/targets")["targets"]
    return int(daemon.target(target["id"])["sample"]["sequence"])


def says_full(daemon: Daemon) -> bool:
    """Tell whether the last cycle's sentence is that the journal cannot be written."""
    (target,) = daemon.ask("GET", "/v1/targets")["targets"]
    return "the journal" in target["sentence"] and "cannot be written" in target["sentence"]

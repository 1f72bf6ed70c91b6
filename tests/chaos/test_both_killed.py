"""Daemon and database killed while compaction is off: what SetOptions had written to disk is found and put back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adocd.model.options import BYTES_PER_SYNC_OFF
from tests.chaos.daemon import Daemon
from tests.chaos.figures import Figures
from tests.chaos.hosts import HOSTS, LAW, Host, agent_of, alive, running
from tests.chaos.options import differing, stored, until_nothing_differs
from tests.chaos.profile import count
from tests.cli.harness import no_traceback
from tests.support.waiting import always, eventually

pytestmark = pytest.mark.chaos

Json = Any
OFF = "disable_auto_compactions"
PUT_BACK_WITHIN_S = 60.0


@pytest.mark.parametrize("kind", HOSTS)
def test_what_both_left_behind_is_put_back(run_dir: Path, kind: str, figures: Figures) -> None:
    """A program that loads its OPTIONS file comes up with the tuned values, and takes them for its own.

    Its agent cannot know better: these are the originals of its session. So the daemon has to, from its journal; and
    when it leaves, the agent must not lead back to what was tuned. What the next open loads has to be original, too.
    """
    host = HOSTS[kind](run_dir)
    times = count(1, 5)
    with running(host):
        originals, on_disk = originals_of(run_dir, host), tunable(run_dir, host)
        assert on_disk.keys() >= {OFF, "write_buffer_size"}, "what is tuned is not among what is compared"
        assert on_disk[OFF] == "false"
        for n in range(times):
            if n > 0:
                host.kill()
                host.start(reload=True)
                assert not differing(originals_of(run_dir, host), originals, pools=False)
            tune_and_kill_both(run_dir, host)
            assert stored(host.directory)[OFF] == "true", "nothing tuned is on disk, so this would show nothing"
            host.start(reload=True)
            assert originals_of(run_dir, host)["column_families"]["default"][OFF] == "true"
            put_back_by_a_new_daemon(run_dir, host, originals)
            left = {name: both for name, both in pairs(on_disk, tunable(run_dir, host)).items() if both[0] != both[1]}
            assert not left, f"left in the OPTIONS file, before and after: {left}"
        host.kill()
    figures.add(f"{kind}, both killed", f"{times} times; data complete: {host.complete()}")


def originals_of(run_dir: Path, host: Host) -> Json:
    """Read the values that this session takes for original."""
    with agent_of(run_dir, host.pid) as agent:
        return agent.database(agent.only_database()["id"])["originals"]


def tunable(run_dir: Path, host: Host) -> Mapping[str, str]:
    """Read what the OPTIONS file has of the options that can be changed.

    A bytes_per_sync that is off cannot be set to 0 live; then it has a value that no file reaches.
    """
    values = originals_of(run_dir, host)
    names = values["database"].keys() | values["column_families"]["default"].keys()
    found = {name: value for name, value in stored(host.directory).items() if name in names}
    assert {OFF, "write_buffer_size"} <= found.keys(), "what is tuned is compared"
    if found.get("bytes_per_sync") == str(BYTES_PER_SYNC_OFF):
        found["bytes_per_sync"] = "0"
    return found


def pairs(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str | None]]:
    """Put values side by side."""
    return {name: (value, after.get(name)) for name, value in before.items()}


def tune_and_kill_both(run_dir: Path, host: Host) -> None:
    """Let a law and an operator's override work together, then leave neither process a chance."""
    daemon = Daemon(run_dir, *LAW, lease_ttl_s=10)
    with agent_of(run_dir, host.pid) as agent, daemon.running():
        database = agent.only_database()["id"]
        originals = agent.database(database)["originals"]

        def tuned(name: str) -> bool:
            return name in differing(agent.fresh_snapshot(database)["options"], originals, pools=host.pools)

        # In this order: with compaction off level 0 overflows, and then the law leaves the batch alone.
        eventually(lambda: tuned("write_buffer_size"), what="the law has tuned")
        daemon.pin(database, OFF, "true")
        eventually(lambda: tuned(OFF), what="compaction is off")
        eventually(lambda: stored(host.directory)[OFF] == "true", what="it is in the OPTIONS file")
        host.note_written(agent, database)
        daemon.kill()
    host.kill()
    assert not alive(host.pid)


def put_back_by_a_new_daemon(run_dir: Path, host: Host, originals: Json) -> None:
    """Start one that has no reason to tune, and see the originals come back, and stay when it has gone, too."""
    daemon = Daemon(run_dir, lease_ttl_s=10)
    with agent_of(run_dir, host.pid) as agent:
        database = agent.only_database()["id"]

        def left() -> object:
            return differing(agent.fresh_snapshot(database)["options"], originals, pools=False)

        with daemon.running():
            eventually(lambda: daemon.target(database), what="the daemon has found the database")
            daemon.unpin(database, OFF)
            until_nothing_differs(left, PUT_BACK_WITHIN_S)
        always(lambda: not left(), for_s=1.0, what="the agent leads to the true originals when the daemon has gone")
    no_traceback(run_dir)

"""The database killed, closed and opened again under control: the daemon follows, and nothing piles up in it."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.daemon import Daemon
from tests.chaos.figures import Figures, spread
from tests.chaos.hosts import LAW, JavaProgram, PythonProgram, agent_of
from tests.chaos.options import differing, stored, until_nothing_differs
from tests.chaos.profile import FULL, chance, count
from tests.chaos.restartable import NativeProgram, ReloadingProgram, Restartable
from tests.support.waiting import eventually

pytestmark = pytest.mark.chaos

FOLLOWED_WITHIN_S = 2.0
#: How a session ends.
ENDS = ("killed", "closed", "ended")
#: What may be more at the end than after the first session: far more than noise, far less than a leak a session.
MORE_DESCRIPTORS, MORE_BYTES = 8, 64 << 20


def test_the_daemon_follows_a_database_that_comes_and_goes(
    run_dir: Path, native_programs: Path, native_agent_library: Path, figures: Figures
) -> None:
    """Killed, closed and opened again in the same process, ended and started: with each agent, under one daemon."""
    daemon = Daemon(run_dir, *LAW, lease_ttl_s=2)
    hosts: list[Restartable] = [
        NativeProgram(run_dir, native_programs, native_agent_library),
        ReloadingProgram(run_dir, "python", PythonProgram),
        ReloadingProgram(run_dir, "java", JavaProgram),
    ]
    rng = chance("reopened")
    try:
        with daemon.running():
            rounds = [Round(daemon, host) for host in hosts]
            for each in rounds:
                each.start()
            began = footprint(daemon.pid)
            for n in range(count(9, 75)):
                rounds[n % len(rounds)].again(rng)
            for each in rounds:
                each.see_every_end()
                each.see_tuned()
            ended = footprint(daemon.pid)
        for each in rounds:
            each.see_nothing_left_tuned()
        for host in hosts:
            host.end()
    finally:
        for host in hosts:
            host.kill()
    for each in rounds:
        figures.add(f"{each.host.name} reopened", *each.figures())
    figures.add(
        "the daemon meanwhile", f"descriptors {began[0]} to {ended[0]}, {began[1] >> 20} to {ended[1] >> 20} MiB"
    )
    assert "Traceback" not in daemon.log
    assert ended[0] <= began[0] + MORE_DESCRIPTORS
    assert ended[1] <= began[1] + MORE_BYTES


class Round:
    """One database through its sessions."""

    def __init__(self, daemon: Daemon, host: Restartable) -> None:
        self.host = host
        self._daemon = daemon
        self._kinds: Counter[str] = Counter()
        self._kinds_left: list[str] = []
        self._followed_s: list[float] = []
        self._session = ""

    def start(self) -> None:
        """Open it for the first time, and remember what the options were."""
        self.host.start()
        with agent_of(self.host.run_dir, self.host.pid) as agent:
            self._originals = agent.database(self._listed_id())["originals"]
        self._stored = stored(self.host.directory)
        self._see_followed()
        self.see_tuned()

    def again(self, rng: random.Random) -> None:
        """End its session in one of three ways at a random moment, open it again, and see the daemon follow."""
        self._kinds_left = self._kinds_left or rng.sample(ENDS, len(ENDS))
        kind = self._kinds_left.pop()
        self._kinds[kind] += 1
        time.sleep(rng.uniform(0, count(1, 2)))
        if kind == "closed":
            self.host.close()
            self.host.open()
        elif kind == "killed":
            self.host.kill()
            self.host.start()
        else:
            self.host.end()
            self.host.start()
        self._see_followed()

    def see_every_end(self) -> None:
        """Fail where one of the three ways never came."""
        assert set(self._kinds) == set(ENDS), self._kinds

    def see_tuned(self) -> None:
        """Wait until the daemon has changed something in this session, else the rest would show nothing."""
        with agent_of(self.host.run_dir, self.host.pid) as agent:
            database = self._listed_id()

            def tuned() -> bool:
                snapshot = agent.fresh_snapshot(database)
                return bool(snapshot["restore"]["state"] == "armed" and self._differing(snapshot["options"]))

            eventually(tuned, what="something is tuned")

    def see_nothing_left_tuned(self) -> None:
        """Compare the options with those of the first open, in the process and on disk."""
        with agent_of(self.host.run_dir, self.host.pid) as agent:
            database = self._listed_id()
            until_nothing_differs(lambda: self._differing(agent.fresh_snapshot(database)["options"]), 30)
        names = self._originals["column_families"]["default"].keys() | {"max_background_jobs", "delayed_write_rate"}
        now = stored(self.host.directory)
        assert {"write_buffer_size", "max_background_jobs"} <= names & now.keys() & self._stored.keys()
        left = {name: (now[name], self._stored[name]) for name in names & now.keys() if now[name] != self._stored[name]}
        assert not left, f"left in the OPTIONS file: {left}"

    def figures(self) -> list[str]:
        """Say what was measured."""
        ways = ", ".join(f"{number} times {kind}" for kind, number in sorted(self._kinds.items()))
        return [ways, f"followed within {spread(self._followed_s)}"]

    def _differing(self, options: object) -> dict[str, tuple[str, str]]:
        return differing(options, self._originals, pools=self.host.pools)

    def _listed_id(self) -> str:
        with agent_of(self.host.run_dir, self.host.pid) as agent:
            return str(agent.only_database()["id"])

    def _see_followed(self) -> None:
        """Measure from the moment that the agent lists the new session until the daemon says that it controls it."""
        with agent_of(self.host.run_dir, self.host.pid) as agent:
            listed = eventually(agent.databases, what="the agent lists the database")[0]
        listed_s = time.monotonic()
        assert listed["session"] != self._session
        self._session = listed["session"]

        def followed() -> bool:
            shown = self._daemon.target(listed["id"])
            return bool(shown and shown["state"] == "attached" and shown["session"] == self._session)

        eventually(followed, what="the daemon follows")
        self._followed_s.append(time.monotonic() - listed_s)
        assert not FULL or self._followed_s[-1] <= FOLLOWED_WITHIN_S, "a time, so only where nothing else runs"


def footprint(pid: int) -> tuple[int, int]:
    """Count a process's descriptors, and the bytes of memory that it has."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), int(resident.split()[1]) * 1024

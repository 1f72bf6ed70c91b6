"""The daemon stopped (SIGSTOP) for longer and shorter than its lease, under every law and with pins, at any moment.

What its agents restore meanwhile is no change by somebody else, no original is lost, and what it says is back is back.
"""

from __future__ import annotations

import asyncio
import functools
import os
import random
import signal
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from adocd.daemon.book.book import Book, Clocks
from tests.chaos.daemon import Daemon
from tests.chaos.figures import Figures
from tests.chaos.hosts import DbBench, agent_pids, alive
from tests.chaos.options import differing
from tests.chaos.profile import FULL, chance
from tests.cli.harness import no_traceback
from tests.support.agent_client import AgentClient
from tests.support.waiting import eventually

pytestmark = pytest.mark.chaos

Json = Any
MIB, GIB = 1 << 20, 1 << 30
#: In the short profile all times are a fifth of those that the project promises.
SCALE = 1.0 if FULL else 0.2
LEASE_TTL_S = 10.0 * SCALE
STOPS_S = tuple(seconds * SCALE for seconds in (1, 5, 11, 15, 60))
#: A stop of the daemon hits all databases at once: 25 of the daemon are 200 of a database under control.
STOPS_FULL = 200
BACK_WITHIN_S = 120.0
LIMITER_BYTES_PER_S = 5_000_000
#: Laws with parameters under which they act on such a database; `pins` is no law, but three pins.
LAWS: dict[str, Json] = {
    "adoc": {"batch_min_bytes": MIB, "batch_step_bytes": MIB},
    "adoc-released": {"batch_min_bytes": MIB},
    "mimd": {"max_bytes_per_s": 20 * MIB},
    "toggle": {"cap_bytes_per_s": 2 * MIB, "dwell_s": 0.0},
    "silk": {"bandwidth_bytes_per_s": LIMITER_BYTES_PER_S, "step_bytes_per_s": MIB, "floor_bytes_per_s": MIB},
    "stability": {},
    "spring-and-gear": {},
    "pins": {},
}
#: Those whose database has a rate limiter; the others have small memtables and a slowdown that comes early.
LIMITED = ("mimd", "toggle", "silk", "pins")
SHORT = ("toggle", "pins")
PINS = {
    "level0_stop_writes_trigger": "100",
    "hard_pending_compaction_bytes_limit": str(200 * GIB),
    "disable_auto_compactions": "true",
}


class Bench(DbBench):
    """One of several db_bench, with small memtables and a limiter: flushes and compactions all the time."""

    def __init__(self, run_dir: Path, law: str) -> None:
        # A third of what the limiter lets through: level 0 has to empty again after compaction was off.
        super().__init__(run_dir, keys_per_s=1500)
        self.law = law
        self.directory = run_dir / f"db-{law}"
        self.others = set(agent_pids(run_dir))
        self.database = ""
        self.agent: AgentClient

    def start(self, *, reload: bool = False) -> None:
        """See Host."""
        super().start(reload=reload)
        self.agent = AgentClient(self._run_dir / f"agent-{self.pid}.sock", timeout_s=60)
        self.database = self.agent.only_database()["id"]

    def end(self) -> None:
        """Kill it, and close the connection to its agent."""
        self.agent.close()
        if alive(self.pid):
            self.kill()

    def snapshot(self) -> Json:
        """Look by its agent's own socket."""
        return self.agent.fresh_snapshot(self.database)

    def unlike(self) -> Json:
        """Find what is not as it was when the database was opened."""
        then, now = self.agent.database(self.database)["originals"], self.snapshot()["options"]
        rate = "rate_limiter_bytes_per_s"
        limiter = {rate: (now[rate], then[rate])} if now[rate] != then[rate] else {}
        return differing(now, then, pools=False) | limiter

    def is_at_rest(self) -> bool:
        """Whether its agent has nothing left to do."""
        now = self.snapshot()
        return now["lease"] is None and not now["change_in_flight"] and now["restore"]["state"] in ("none", "done")

    def _command(self, reload: bool) -> list[str]:
        if self.law not in LIMITED:
            return super()._command(reload)
        return [
            "db_bench", f"--db={self.directory}", "--benchmarks=filluniquerandom", f"--num={self._keys}",
            "--value_size=1000", f"--benchmark_write_rate_limit={self._keys_per_s * 1016}", "--compression_type=none",
            f"--write_buffer_size={MIB}", f"--target_file_size_base={MIB}", f"--max_bytes_for_level_base={4 * MIB}",
            f"--rate_limiter_bytes_per_sec={LIMITER_BYTES_PER_S}", "--statistics=1",
            # Low, so that a way back from compaction that was off has to wait for level 0.
            "--level0_slowdown_writes_trigger=8", "--level0_stop_writes_trigger=12",
        ]  # fmt: skip

    def _agent_pid(self) -> int | None:
        return next((pid for pid in agent_pids(self._run_dir) if pid not in self.others and alive(pid)), None)


class Stops:
    """Stops of one daemon, which controls all of the databases."""

    def __init__(self, daemon: Daemon, hosts: list[Bench], rng: random.Random) -> None:
        self.seen: Counter[str] = Counter()
        self._daemon = daemon
        self._hosts = hosts
        self._rng = rng

    def one(self, stop_s: float) -> None:
        """Let all laws act, stop the daemon at some moment, and hold what comes of it against the promise."""
        self._begin()
        # Half of the stops find the way back begun already, and the law or the pins may come back to it.
        if self._rng.random() < 0.5:
            self._end()
            time.sleep(self._rng.uniform(0, 1))
        os.kill(self._daemon.pid, signal.SIGSTOP)
        time.sleep(stop_s)
        for host in self._hosts:
            found = host.snapshot()
            self.seen[f"restore {found['restore']['state']}"] += 1
            self.seen["lease gone"] += found["lease"] is None
        os.kill(self._daemon.pid, signal.SIGCONT)
        time.sleep(self._rng.uniform(0, 3 * SCALE))
        if self._rng.random() < 0.3:
            self._begin()
        self._end()
        self._is_back()

    def _begin(self) -> None:
        """Set each database's law, or its pins, and wait until something is changed."""
        for host in self._hosts:
            if host.law == "pins":
                self._policy(host, "fixed", {})
                for option, value in PINS.items():
                    self._daemon.pin(host.database, option, value)
            else:
                self._policy(host, host.law, LAWS[host.law])
        for host in self._hosts:
            if host.law not in ("adoc", "adoc-released", "silk"):
                eventually(host.unlike, within_s=60, what=f"{host.law} has changed something")
        time.sleep(self._rng.uniform(0, 5 * SCALE))
        for host in self._hosts:
            self.seen[f"{host.law} acted"] += bool(host.unlike())

    def _end(self) -> None:
        """Want nothing any more."""
        for host in self._hosts:
            self._policy(host, "fixed", {})
            if host.law == "pins":
                for pin in self._daemon.ask("GET", f"/v1/targets/{host.database}/overrides")["overrides"]:
                    self._daemon.unpin(host.database, pin["option"])

    def _is_back(self) -> None:
        deadline_s = time.monotonic() + BACK_WITHIN_S
        for host in self._hosts:
            while not host.is_at_rest() or host.unlike():
                assert time.monotonic() < deadline_s, (
                    f"{host.law}: {host.unlike()}; {host.snapshot()['restore']}; {self._daemon.log[-3000:]}"
                )
                time.sleep(0.2)
            answer = self._daemon.ask("POST", f"/v1/targets/{host.database}/restore")
            assert answer["unlike"] == {host.database: []}, f"{host.law}: {answer}"
            decisions = self._daemon.ask("GET", f"/v1/targets/{host.database}/decisions?limit=200")["decisions"]
            assert decisions, f"{host.law}: nothing was decided, so nobody could be blamed"
            blamed = [decision for decision in decisions if decision["outcome"] == "changed-by-someone-else"]
            assert not blamed, f"{host.law}: nobody else was there: {blamed}"

    def _policy(self, host: Bench, controller: str, parameters: Json) -> None:
        body = {"controller": controller, "parameters": parameters}
        self._daemon.ask("PUT", f"/v1/targets/{host.database}/policy", body)


def test_a_daemon_that_stood_still_loses_no_original(run_dir: Path, figures: Figures) -> None:
    laws = tuple(LAWS) if FULL else SHORT
    rng = chance("stopped")
    stops_s = [rng.choice(STOPS_S) for _ in range(-(-STOPS_FULL // len(laws)))] if FULL else [STOPS_S[2], STOPS_S[3]]
    daemon = Daemon(run_dir, lease_ttl_s=LEASE_TTL_S)
    with ExitStack() as running:
        hosts = []
        for law in laws:
            host = Bench(run_dir, law)
            host.start()
            running.callback(host.end)
            hosts.append(host)
        running.enter_context(daemon.running())
        for host in hosts:
            found = functools.partial(daemon.target, host.database)
            eventually(found, what=f"the database of {host.law} is found")
        stops = Stops(daemon, hosts, rng)
        for stop_s in stops_s:
            stops.one(stop_s)
        assert stops.seen["lease gone"] > 0, f"no stop was longer than a lease: {stops.seen}"
        for host in hosts:
            assert stops.seen[f"{host.law} acted"] > 0, f"{host.law} did nothing: {stops.seen}"
        no_traceback(run_dir)
        daemon.stop()
        left = asyncio.run(left_in_journal(run_dir, [host.database for host in hosts]))
        assert not left, f"all originals were read back, so none is kept: {left}"
    figures.add(
        f"daemon stopped {len(stops_s)} times, {len(stops_s) * len(hosts)} databases under {', '.join(laws)}",
        *(f"{what}: {times} times" for what, times in sorted(stops.seen.items())),
    )


async def left_in_journal(run_dir: Path, targets: list[str]) -> list[str]:
    """Read what the journal says is tuned, as the next daemon would."""
    book = await Book.open(run_dir / "journal.sqlite", run="a test", clocks=Clocks(time.monotonic, time.time))
    try:
        for target in targets:
            assert await book.decisions(target, 1), f"the journal knows nothing of {target}"
        return [f"{option} of {target}" for target in targets for option in book.left(target)]
    finally:
        await book.close()

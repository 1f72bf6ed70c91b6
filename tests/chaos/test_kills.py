"""The daemon killed again and again while it controls a database: the agent undoes all that it did, each time."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.aftermath import Aftermath, Watch, watch_until_restored
from tests.chaos.daemon import Daemon
from tests.chaos.figures import Figures, spread
from tests.chaos.hosts import HOSTS, LAW, Host, agent_of, running
from tests.chaos.profile import FULL, chance, count
from tests.cli.harness import no_traceback
from tests.support.waiting import eventually

pytestmark = pytest.mark.chaos

LEASE_TTL_S = 1.0
#: The lease plus this is what the project promises.
MARGIN_S = 1.0
#: By then all values are back even after compaction was off, at this rate of writing. Ten times what is usual.
RESTORED_WITHIN_S = 60.0
#: Between two looks: the database and the daemon need the processors, too.
LOOK_S = 0.05
#: How many of the kills may find nothing to undo; the rest of the figures would say little.
IDLE_SHARE = 0.25
OFF = ("disable_auto_compactions", "true")


class Kills:
    """The kills on one database: chooses moments, and holds what came of each against the promise."""

    def __init__(self, daemon: Daemon, host: Host, watch: Watch, rng: random.Random) -> None:
        self.done: list[Aftermath] = []
        self._daemon = daemon
        self._host = host
        self._watch = watch
        self._rng = rng

    def one(self, *, off: bool) -> Aftermath:
        """Start a daemon, let it work for a while, kill it, and see what was changed undone."""
        self._watch.forget()
        self._daemon.start()
        in_flight = self._until_a_moment(off=off)
        killed_s = self._daemon.kill()
        after = watch_until_restored(self._watch, killed_s, RESTORED_WITHIN_S, in_flight=in_flight)
        self.done.append(after)
        self._hold_against_the_promise(after, killed_s)
        return after

    def _until_a_moment(self, *, off: bool) -> bool:
        """Wait for a moment of one of three kinds; returns whether a change is in flight.

        Any moment, that in which the first changes are made among them; one when something is changed, compaction
        switched off where that is wanted; one when a change is in flight.
        """
        # "Any" may find nothing to undo: not twice in a row, or a few kills would say little.
        any_share = 0 if self.done and not self.done[-1].armed else 1
        kind = self._rng.choices(("any", "changed", "in flight"), (any_share, 3, 2))[0]
        if kind == "any":
            time.sleep(self._rng.uniform(0, 3))
        else:
            self._wait_until_changed(off=off)
        if kind == "changed":
            time.sleep(self._rng.uniform(0, 2))
        self._watch.look()
        return kind == "in flight" and self._wait_for_change_in_flight()

    def _wait_until_changed(self, *, off: bool) -> None:
        deadline_s = time.monotonic() + 20
        while not (self._watch.look() and self._watch.armed and (self._watch.compaction_off or not off)):
            assert time.monotonic() < deadline_s, f"nothing was changed; the daemon's log: {self._daemon.log}"
            time.sleep(LOOK_S)

    def _wait_for_change_in_flight(self) -> bool:
        deadline_s = time.monotonic() + 3
        while time.monotonic() < deadline_s:
            if self._watch.sees_change_in_flight():
                return True
            time.sleep(0.005)
        return False

    def _hold_against_the_promise(self, after: Aftermath, killed_s: float) -> None:
        assert not self._watch.differing(), f"not put back: {self._watch.differing()} after {after}"
        if not after.armed:
            return
        assert after.begun_s is not None, f"no restore was begun: {after}"
        # Where the process itself could not run, its agent could not either (see `responds_during_stall`).
        stood_still_s = self._host.standstill_s(killed_s - LEASE_TTL_S, killed_s + after.begun_s)
        if FULL:  # a time, and so only where nothing else runs; the figures say it
            promised_s = LEASE_TTL_S + MARGIN_S + stood_still_s
            assert after.begun_s <= promised_s, f"{after}; stood still {stood_still_s:.2f} s"

    def figures(self) -> list[str]:
        """Say what was measured."""
        undone = [after for after in self.done if after.armed]
        waited = Counter[str]()
        for after in undone:
            waited.update({words: 1 for words, seconds in after.waits.items() if seconds > 0})
        longest = {words: max(after.waits.get(words, 0.0) for after in undone) for words in waited}
        return [
            f"{len(self.done)} kills: {len(undone)} with something to undo, "
            f"{sum(after.compaction_off for after in undone)} with compaction off, "
            f"{sum(after.in_flight for after in self.done)} with a change in flight",
            f"restore begun after {spread(after.begun_s for after in undone if after.begun_s is not None)}",
            f"last value back after {spread(after.back_s for after in undone if after.back_s is not None)}",
            *(f"waited {times} times for {words}, at most {longest[words]:.2f} s" for words, times in waited.items()),
        ]


@pytest.mark.parametrize("kind", HOSTS)
@pytest.mark.parametrize("off", [False, True], ids=["compaction_on", "compaction_off"])
def test_what_a_killed_daemon_changed_is_undone(run_dir: Path, kind: str, off: bool, figures: Figures) -> None:
    """The restore begins within the lease plus 1 s, ends with every value back, and no data are missing.

    Times are those of the agent's events. A program with rocksdict may be unable to run at all in a stall: then its
    agent does not let a lease expire before it could run for 2 s, or for the lease's time, since the renewal. So what
    the program itself noticed of such standstills is added there to what is allowed; it is 0 in most runs.
    """
    host = HOSTS[kind](run_dir)
    wanted = count(1, 50) + (off and count(1, 0))
    daemon = Daemon(run_dir, *LAW, lease_ttl_s=LEASE_TTL_S)
    with running(host), agent_of(run_dir, host.pid) as agent:
        database = agent.only_database()["id"]
        watch = Watch(agent, database, host.pools)
        kills = Kills(daemon, host, watch, chance("kills", kind, str(off)))
        if off:
            switch_off(daemon, database)
        try:
            while sum(after.armed and (after.compaction_off or not off) for after in kills.done) < wanted:
                kills.one(off=off)
                assert len(kills.done) <= 2 * wanted + 3, f"there was hardly ever something to undo: {kills.done}"
        finally:
            daemon.stop()
            figures.add(f"{kind}, compaction {'off' if off else 'on'}", *kills.figures())
        assert watch.close_looks > 0, "no two looks could tell what became of the stop trigger between them"
        idle = sum(not after.armed for after in kills.done)
        assert idle <= max(1, IDLE_SHARE * len(kills.done)), f"{idle} kills found nothing to undo: {kills.done}"
        no_traceback(run_dir)
        host.note_written(agent, database)
        host.kill()
    figures.add(f"{kind}, compaction {'off' if off else 'on'}", f"data complete: {host.complete()}")


def switch_off(daemon: Daemon, database: str) -> None:
    """Let an operator pin compaction off; the journal brings it to every daemon that follows."""
    daemon.start()
    eventually(lambda: daemon.target(database), what="the daemon has found the database")
    daemon.pin(database, *OFF, for_s=7200)
    daemon.stop()

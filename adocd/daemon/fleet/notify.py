"""Tells the service manager how the daemon is (sd_notify(3)), and keeps its watchdog only while control goes on."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import MutableMapping

from adocd.daemon.fleet.fleet import Fleet
from adocd.model.printable import printable

_log = logging.getLogger(__name__)
#: The longest that a sound cycle takes: an agent is waited for 2 s by each of a few calls, a law for 2 s.
_CYCLE_MOST_S = 20.0
#: So many ticks, where those are longer.
_TICKS_MOST = 3
#: How often the status is told, and the watchdog fed at the least.
_PERIOD_S = 2.0
_PATIENCE_S = 0.5


class ServiceManager:
    """The socket that systemd listens on; says nothing where there is none."""

    def __init__(self, address: str | None, watchdog_s: float | None) -> None:
        #: Within which systemd wants to hear of us, in seconds; None where it does not watch.
        self.watchdog_s = watchdog_s
        self._address = address

    @classmethod
    def of_environment(cls, environment: MutableMapping[str, str]) -> "ServiceManager":
        """Take what systemd has put there, and take it out, for our children are not the service."""
        address = environment.pop("NOTIFY_SOCKET", None)
        limit, pid = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        is_ours = limit.isdecimal() and int(limit) > 0 and pid in ("", str(os.getpid()))
        return cls(address, int(limit) / 1e6 if address and is_ours else None)

    def tell(self, *words: str, patience_s: float = 0.0) -> None:
        """Send assignments such as READY=1; a manager that does not listen is none.

        Each is one line, for what follows an end of a line would be another assignment. A full queue is waited for so
        long, in which control stands still: only for what systemd waits for, too.
        """
        if self._address is None:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.settimeout(patience_s)
                sender.sendto("\n".join(map(printable, words)).encode(), address)
        except OSError as error:
            _log.debug("the service manager at %s cannot be told: %s", self._address, error)

    def ready(self) -> None:
        """Say that the start, or a reload, is over."""
        self.tell("READY=1", patience_s=_PATIENCE_S)

    def reloading(self) -> None:
        """Say that the configuration is being read again; `ready` ends it."""
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.tell("RELOADING=1", f"MONOTONIC_USEC={now_us}", patience_s=_PATIENCE_S)

    def stopping(self) -> None:
        """Say that the end has begun."""
        self.tell("STOPPING=1", "STATUS=restoring what was changed", patience_s=_PATIENCE_S)


class Attendance:
    """Feeds the watchdog while all control loops tick, and tells what the service does."""

    def __init__(self, manager: ServiceManager, fleet: Fleet) -> None:
        #: A sentence of the last reload's, which the status shows.
        self.reloaded: str | None = None
        self._manager = manager
        self._fleet = fleet
        self._told: str | None = None
        self._was_wedged: str | None = None

    async def run(self) -> None:
        """Go on until cancelled."""
        limit_s = self._manager.watchdog_s
        period_s = _PERIOD_S if limit_s is None else min(_PERIOD_S, limit_s / 4)
        while True:
            self.attend()
            await asyncio.sleep(period_s)

    def attend(self) -> None:
        """Look at the loops once: feed the watchdog unless one is wedged, and tell the status if it is another."""
        wedged = self.wedged()
        if wedged is not None and wedged != self._was_wedged:
            _log.error("%s does not tick any more; the watchdog is not fed until it does", wedged)
        self._was_wedged = wedged
        if wedged is None and self._manager.watchdog_s is not None:
            self._manager.tell("WATCHDOG=1")
        if (status := self.status()) != self._told:
            self._manager.tell(f"STATUS={status}")
            self._told = status

    def wedged(self) -> str | None:
        """Name a loop that has not ended a cycle for longer than any sound one takes; None when all go on."""
        settings = self._fleet.settings

        def is_long_ago(at_s: float | None, tick_s: float) -> bool:
            return at_s is not None and at_s < settings.clock() - max(_CYCLE_MOST_S, _TICKS_MOST * tick_s)

        for loop in self._fleet.loops.values():
            # A reload may have made ticks shorter than the one that the loop sleeps for.
            tick_s = max(settings.tick_s, loop.remembered.vitals.tick_s)
            if loop.state != "closed" and is_long_ago(loop.remembered.vitals.ticked_s, tick_s):
                return f"the loop of {loop.path}"
        is_late = is_long_ago(settings.vitals.discovered_s, settings.tick_s)
        return "the search for agents" if is_late else None

    def status(self) -> str:
        """Say in one line what the service does."""
        loops = [loop.status for loop in self._fleet.loops.values() if loop.state != "closed"]
        words = [f"{len(loops)} {'database' if len(loops) == 1 else 'databases'}"]
        for what, count in (
            ("stalled", sum(loop.stall is not None for loop in loops)),
            ("paused", sum(loop.paused is not None for loop in loops)),
            ("silent", sum(loop.state == "silent" for loop in loops)),
            ("fallen back to fixed", sum(loop.fell_back is not None for loop in loops)),
        ):
            words += [f"{count} {what}"] if count else []
        wedged = [f"{self._was_wedged} hangs"] if self._was_wedged else []
        no_tcp = [why] if (why := self._fleet.settings.vitals.web_problem) else []
        return "; ".join([", ".join(words), *wedged, *no_tcp, *([self.reloaded] if self.reloaded else [])])

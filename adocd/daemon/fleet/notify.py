"""Reports the daemon's state to the service manager (sd_notify(3)), and feeds its watchdog while control runs."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import MutableMapping

from adocd.daemon.fleet.fleet import Fleet
from adocd.model.printable import printable

_log = logging.getLogger(__name__)
#: Longest time that a regular cycle takes: each of its two agent calls may wait 6 s for a connection and 2 s for the
#: answer, and the law may take 2 s.
_CYCLE_MOST_S = 20.0
#: With long ticks, a loop is wedged after this many of them.
_TICKS_MOST = 3
#: Longest time between two updates of the status and the watchdog.
_PERIOD_S = 2.0
#: Most bytes of a line for the service manager, and what is said where it has more.
_WORDS_BYTES_MOST, _CUT = 2000, "... (its log has all of it)"
_PATIENCE_S = 0.5


class ServiceManager:
    """The socket that systemd listens on; without one, nothing is sent."""

    def __init__(self, address: str | None, watchdog_s: float | None) -> None:
        #: The watchdog's timeout in seconds; None without a watchdog.
        self.watchdog_s = watchdog_s
        self._address = address

    @classmethod
    def of_environment(cls, environment: MutableMapping[str, str]) -> "ServiceManager":
        """Read systemd's variables, and remove them, because our child processes are not the service."""
        address = environment.pop("NOTIFY_SOCKET", None)
        limit, pid = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        is_ours = limit.isdecimal() and int(limit) > 0 and pid in ("", str(os.getpid()))
        return cls(address, int(limit) / 1e6 if address and is_ours else None)

    def tell(self, *words: str, patience_s: float = 0.0) -> None:
        """Send assignments such as READY=1; a manager that does not listen is ignored.

        Each must be a single line, because a line break starts another assignment. `patience_s` limits the wait for a
        full queue. Control stands still meanwhile, so use it only for messages that systemd itself waits for.
        """
        if self._address is None:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.settimeout(patience_s)
                sender.sendto("\n".join(_fitting(printable(each)) for each in words).encode(), address)
        except OSError as error:
            _log.debug("the service manager at %s cannot be told: %s", self._address, error)

    def ready(self) -> None:
        """Report that the start, or a reload, is complete."""
        self.tell("READY=1", patience_s=_PATIENCE_S)

    def reloading(self) -> None:
        """Report that the configuration is being reloaded; `ready` ends that."""
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.tell("RELOADING=1", f"MONOTONIC_USEC={now_us}", patience_s=_PATIENCE_S)

    def stopping(self) -> None:
        """Report that the daemon is stopping."""
        self.tell("STOPPING=1", "STATUS=restoring what was changed", patience_s=_PATIENCE_S)


def _fitting(words: str) -> str:
    """Shorten what systemd would ignore as too long (src/core/manager.c, NOTIFY_BUFFER_MAX: 4096 bytes)."""
    content = words.encode()
    return words if len(content) <= _WORDS_BYTES_MOST else content[:_WORDS_BYTES_MOST].decode(errors="ignore") + _CUT


class Attendance:
    """Feeds the watchdog while all control loops tick, and reports the service's status."""

    def __init__(self, manager: ServiceManager, fleet: Fleet) -> None:
        #: The last reload's sentence, shown in the status.
        self.reloaded: str | None = None
        self._manager = manager
        self._fleet = fleet
        self._told: str | None = None
        self._was_wedged: str | None = None

    async def run(self) -> None:
        """Attend to the service manager until cancelled."""
        limit_s = self._manager.watchdog_s
        period_s = _PERIOD_S if limit_s is None else min(_PERIOD_S, limit_s / 4)
        while True:
            self.attend()
            await asyncio.sleep(period_s)

    def attend(self) -> None:
        """Check the loops once: feed the watchdog unless one is wedged, and report the status if it has changed."""
        wedged = self.wedged()
        if wedged is not None and wedged != self._was_wedged:
            _log.error("%s no longer ticks; the watchdog is not fed until it does", wedged)
        self._was_wedged = wedged
        if wedged is None and self._manager.watchdog_s is not None:
            self._manager.tell("WATCHDOG=1")
        if (status := self.status()) != self._told:
            self._manager.tell(f"STATUS={status}")
            self._told = status

    def wedged(self) -> str | None:
        """Return a loop that has not completed a cycle for longer than a healthy one takes; None if there is none."""
        settings = self._fleet.settings

        def is_long_ago(at_s: float | None, tick_s: float) -> bool:
            return at_s is not None and at_s < settings.clock() - max(_CYCLE_MOST_S, _TICKS_MOST * tick_s)

        for loop in self._fleet.loops.values():
            # After a reload the tick may be shorter than the one that the loop is still sleeping for.
            tick_s = max(settings.tick_s, loop.remembered.vitals.tick_s)
            if loop.state != "closed" and is_long_ago(loop.remembered.vitals.ticked_s, tick_s):
                return f"the loop of {loop.path}"
        is_late = is_long_ago(settings.vitals.discovered_s, settings.tick_s)
        return "the search for agents" if is_late else None

    def status(self) -> str:
        """Return the service's status in one line."""
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

"""The daemon as a service: notifications to systemd, and SIGHUP, which reloads the configuration."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable

from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.notify import Attendance, ServiceManager
from adocd.daemon.fleet.reload import Reload

_log = logging.getLogger(__name__)


class ServiceProcess:
    """Talks to the service manager and handles SIGHUP. Create it before serving, so that SIGHUP cannot end the process.

    Calls `stop` when SIGHUP means that the daemon's terminal was closed.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._manager = ServiceManager.of_environment(os.environ)
        self._hung_up = asyncio.Event()
        # nohup(1) ignores SIGHUP so that its program outlives the terminal; whoever sends one later wants a reload.
        is_kept_on = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        self._had_terminal = _has_terminal() and not is_kept_on
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._on_hangup)

    @contextlib.asynccontextmanager
    async def running(self, fleet: Fleet, reload: Reload) -> AsyncIterator[None]:
        """Report ready, and keep the watchdog fed while the body runs."""
        attendance = Attendance(self._manager, fleet)
        tasks = [
            asyncio.create_task(attendance.run(), name="service manager"),
            asyncio.create_task(self._reload(attendance, reload), name="reload"),
        ]
        self._manager.ready()
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def stopping(self) -> None:
        """Tell the service manager that the daemon is stopping."""
        self._manager.stopping()

    async def _reload(self, attendance: Attendance, reload: Reload) -> None:
        while True:
            await self._hung_up.wait()
            self._hung_up.clear()
            self._manager.reloading()
            try:
                done = await reload.again()
                attendance.reloaded = str(done)
                attendance.attend()
            except Exception:
                _log.exception("telling of the reload failed; going on")
            finally:
                self._manager.ready()

    def _on_hangup(self) -> None:
        if self._had_terminal and not _has_terminal():
            _log.info("the terminal has gone")
            self._stop()
        else:
            self._hung_up.set()


def _has_terminal() -> bool:
    """Whether this process has a controlling terminal that is still there (tty(4))."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK))
    except OSError:
        return False
    return True

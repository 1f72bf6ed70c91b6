"""The daemon's TCP side: the supervised web process and the address that it serves.

A problem with an address that others can reach never stops the daemon from starting and controlling its databases: a
machine may reboot months after a token has expired, or before its network is up. On loopback an occupied port is an
error, since whoever starts the daemon sees it.
"""

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from adocd.api import server
from adocd.api.web import page
from adocd.daemon.book.tokens import TokenError, TokenStore
from adocd.daemon.fleet.address import Address
from adocd.daemon.fleet.config import WebConfig
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.logs import Format

_log = logging.getLogger(__name__)
#: How often to retry an address that cannot be served yet.
_AGAIN_S = 2.0
#: Pause between two starts of a web process that keeps dying.
_RESTART_DELAY_S = 1.0
#: How long the web process may take to end.
_WEB_PATIENCE_S = 5.0
#: Silence after which it counts as hung: it reports every 2 s, and may first take long to start.
_WEB_SILENT_S = 60.0


class WebSide:
    """What to serve over TCP, and where. `daemon_socket` and `tokens` are paths that the web process uses."""

    def __init__(
        self, address: Address, config: WebConfig, daemon_socket: Path, tokens: Path, log_format: Format
    ) -> None:
        self._address = address
        self._config = config
        self._daemon_socket = daemon_socket
        self._tokens = tokens
        self._log_format = log_format
        self._listener: socket.socket | None = None

    @contextlib.contextmanager
    def bound(self) -> Iterator[None]:
        """Hold the loopback port while the body runs; call it before anything else. Raises server.AddressInUse."""
        try:
            if self._address.is_loopback:
                self._listener = server.listen(self._address)
            yield
        finally:
            if self._listener is not None:
                self._listener.close()

    @contextlib.asynccontextmanager
    async def serving(self, fleet: Fleet, web_secret: str) -> AsyncIterator[None]:
        """Keep the web process running while the body runs; it authenticates to the daemon with `web_secret`."""
        if self._listener is not None:
            self._announce(self._listener)  # before "serving" is logged: whoever waits for it connects at once
        keeper = asyncio.create_task(self._keep(fleet, web_secret), name="web")
        try:
            yield
        finally:
            keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await keeper

    async def _keep(self, fleet: Fleet, web_secret: str) -> None:
        if self._listener is None:
            self._listener = await self._once_possible(fleet)
            self._announce(self._listener)
        while True:
            try:
                status = await self._web_process(self._listener, web_secret)
                _log.warning("the web process ended with status %d; starting it anew", status)
            except OSError as error:
                _log.warning("the web process cannot be started (%s); trying again", error)
            await asyncio.sleep(_RESTART_DELAY_S)

    def _announce(self, listener: socket.socket) -> None:
        bound = Address(*listener.getsockname()[:2])
        reads = "who is on this machine may read" if self._anonymous_read else "reading needs a token"
        _log.info("%s, changing needs a token to operate, on http://%s", reads, bound)
        if not page.is_installed():
            _log.info("%s; REST and metrics are served", page.NOT_INSTALLED)

    @property
    def _anonymous_read(self) -> bool:
        return self._config.anonymous_read and self._address.is_loopback

    async def _once_possible(self, fleet: Fleet) -> socket.socket:
        """Wait until a valid token exists and the address is free; report what is missing."""
        vitals, listener = fleet.settings.vitals, None
        while listener is None:
            try:
                await asyncio.to_thread(self._check_tokens)
                listener, problem = server.listen(self._address), None
            except (TokenError, server.AddressInUse) as error:
                problem = f"{self._address} is not served, while databases are controlled: {error}"
            if problem != vitals.web_problem:
                vitals.web_problem = problem
                if problem is not None:
                    _log.warning("%s", problem)
                sentence = problem or f"{self._address} is served now"
                fleet.events.publish("daemon", fleet.wall_clock(), about="web", sentence=sentence)
            if listener is None:
                await asyncio.sleep(_AGAIN_S)
        return listener

    def _check_tokens(self) -> None:
        """Raise TokenError if the address needs a token and no valid one exists."""
        store = TokenStore(self._tokens)
        if store.usable():
            return
        what = "every one has expired" if store.tokens() else "there is none"
        raise TokenError(
            f"it is not a loopback address, so clients need a token, and {what}; make one by `adocctl token create "
            f"NAME`, and it is served within {_AGAIN_S:g} s"
        )

    async def _web_process(self, listener: socket.socket, web_secret: str) -> int:
        """Run the web process to its end; it exits when our end of its standard input closes, however we die.

        The secret goes over standard input too, since everybody can read a command line, and every program of this user
        an environment.
        """
        options = [word for host in self._config.hosts for word in ("--host", host)]
        if self._anonymous_read:
            options.append("--anonymous-read")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "adocd.api.web",  # -P: no code from the working directory
            "--fd", str(listener.fileno()), "--daemon-socket", str(self._daemon_socket),
            "--tokens", str(self._tokens), "--log-format", self._log_format, *options,
            pass_fds=(listener.fileno(),), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        try:
            assert process.stdin is not None  # noqa: S101 - as asked for
            process.stdin.write(f"{web_secret}\n".encode())
            return await _attend(process)
        except asyncio.CancelledError:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _WEB_PATIENCE_S)
            except TimeoutError:
                process.kill()
                await process.wait()
            raise


async def _attend(process: asyncio.subprocess.Process) -> int:
    """Wait for the web process to end, or kill it when its event loop stops reporting; return its exit status."""
    assert process.stdout is not None  # noqa: S101 - as asked for
    beat = b"."
    while beat:
        try:
            async with asyncio.timeout(_WEB_SILENT_S):
                beat = await process.stdout.read(4096)
        except TimeoutError:
            _log.warning("the web process has hung for %g s; ending it", _WEB_SILENT_S)
            process.kill()
            break
    return await process.wait()

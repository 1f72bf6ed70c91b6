"""`adocd serve`: the daemon's process, and the web process that it supervises."""

import asyncio
import contextlib
import logging
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from adocd.api import server
from adocd.api.rest import app
from adocd.cli.service import Service
from adocd.daemon import address, garbage
from adocd.daemon.address import Address
from adocd.daemon.book import Book
from adocd.daemon.config import Config
from adocd.daemon.journal.errors import JournalError
from adocd.daemon.logs import Format
from adocd.daemon.operators import Operators
from adocd.daemon.reload import Reload
from adocd.daemon.run import CLOCKS, make_fleet, new_holder
from adocd.daemon.state_dir import journal_path
from adocd.daemon.tokens import TokenError, TokenStore, tokens_path
from adocd.model.policy import Policy
from adocd.targets import run_dir
from adocd.targets.agent import Agent
from adocd.targets.errors import TargetError

_log = logging.getLogger(__name__)
SYSTEM_CONFIG = Path("/etc/adocd/adocd.toml")
#: Between two starts of a web process that keeps dying.
_RESTART_DELAY_S = 1.0
#: How long the web process may take to end.
_WEB_PATIENCE_S = 5.0
#: How long it may say nothing before it counts as hung: it has a word every 2 s, and a slow start first.
_WEB_SILENT_S = 60.0


class CannotServe(Exception):
    """The daemon cannot start; one sentence."""


@dataclass(frozen=True, slots=True)
class Serve:
    """What `adocd serve` was asked for."""

    config: Config
    directory: Path
    policy: Policy | None
    dry_run: bool
    sockets: tuple[Path, ...]
    #: Where to serve TCP; None: where the configuration says, or nowhere.
    listen: Address | None
    directories: tuple[Path, ...] = ()
    #: What SIGHUP reads again, and whether it was there at the start.
    config_file: Path = SYSTEM_CONFIG
    had_config: bool = False
    log_format: Format = "text"


def run(asked: Serve) -> None:
    """Serve until SIGINT or SIGTERM, then restore what was changed. Raises CannotServe."""
    listen = _where_to_listen(asked)
    try:
        run_dir.ensure(asked.directory)
        run_dir.check(asked.directory)
        with contextlib.ExitStack() as stack:
            web = None if listen is None else stack.enter_context(server.listen(listen))
            daemon = stack.enter_context(server.daemon_socket(run_dir.daemon_socket(asked.directory)))
            asyncio.run(_serve(asked, daemon, web))
    except OSError as error:
        raise CannotServe(
            f"the run directory {asked.directory} cannot be used ({error.strerror or error}); "
            "set ADOCD_RUN_DIR to one you may write, or run as root"
        ) from None
    except (server.AddressInUse, ValueError) as error:
        raise CannotServe(str(error)) from None


def _where_to_listen(asked: Serve) -> Address | None:
    """Find the address for TCP clients; raises CannotServe where nobody could be told from anybody."""
    configured = asked.config.web.listen
    listen = asked.listen or (address.parse(configured) if configured else None)
    if listen is None or listen.is_loopback:
        return listen
    try:
        has_token = bool(TokenStore(_tokens(asked)).usable())
    except TokenError as error:
        raise CannotServe(f"{listen} is no loopback address, so who comes needs a token, and {error}") from None
    if not has_token:
        raise CannotServe(
            f"{listen} is no loopback address, so who comes needs a token, and there is none: make one by "
            "`adocctl token create NAME`, which needs no daemon, or listen on 127.0.0.1"
        )
    return listen


def _tokens(asked: Serve) -> Path:
    return tokens_path(journal_path(asked.directory))


async def _serve(asked: Serve, daemon_listener: socket.socket, web_listener: socket.socket | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    service = Service(stop.set)
    for path in asked.sockets:
        await _check(path)
    holder = new_holder()
    book = await _open_book(journal_path(asked.directory), holder)
    fleet = make_fleet(
        asked.config,
        asked.directory,
        asked.policy,
        book,
        holder=holder,
        dry_run=asked.dry_run,
        sockets=asked.sockets,
        directories=asked.directories,
    )
    operators = Operators(fleet, book)
    web_secret = secrets.token_urlsafe(32)
    reload = Reload(fleet, book, asked.config_file, had_file=asked.had_config)
    discovery = asyncio.create_task(fleet.run(), name="discovery")
    try:
        async with (
            server.serving(app.make_app(fleet, operators, web_secret), daemon_listener),
            _web(asked, web_listener, web_secret),
            service.running(fleet, reload),
        ):
            _log.info("serving at %s", run_dir.daemon_socket(asked.directory))
            with garbage.tamed(fleet.settings.vitals.garbage):
                await stop.wait()
            _log.info("stopping: restoring what was changed")
            service.stopping()
            discovery.cancel()
            await fleet.stop()
    finally:
        discovery.cancel()
        await book.close()


async def _open_book(path: Path, holder: str) -> Book:
    try:
        return await Book.open(path, run=holder, clocks=CLOCKS)
    except JournalError as error:
        raise CannotServe(str(error)) from None


async def _check(path: Path) -> None:
    """Make sure that an agent named on the command line is one."""
    agent = Agent(path)
    try:
        await agent.info()
    except TargetError as error:
        raise CannotServe(str(error)) from None
    finally:
        await agent.close()


@contextlib.asynccontextmanager
async def _web(asked: Serve, listener: socket.socket | None, web_secret: str) -> AsyncIterator[None]:
    """Keep the web process alive while the body runs."""
    if listener is None:
        yield
        return
    bound = Address(*listener.getsockname()[:2])
    reads = "who is on this machine may read" if _anonymous_read(asked, bound) else "reading needs a token"
    _log.info("%s, changing needs a token to operate, on http://%s", reads, bound)
    keeper = asyncio.create_task(_keep_web(asked, listener, web_secret), name="web")
    try:
        yield
    finally:
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper


def _anonymous_read(asked: Serve, bound: Address) -> bool:
    return asked.config.web.anonymous_read and bound.is_loopback


async def _keep_web(asked: Serve, listener: socket.socket, web_secret: str) -> None:
    while True:
        try:
            status = await _web_process(asked, listener, web_secret)
            _log.warning("the web process ended with status %d; starting it anew", status)
        except OSError as error:
            _log.warning("the web process cannot be started (%s); trying again", error)
        await asyncio.sleep(_RESTART_DELAY_S)


async def _web_process(asked: Serve, listener: socket.socket, web_secret: str) -> int:
    """Run the web process to its end; it ends by itself when our end of its standard input closes, however we die.

    Its secret goes there too: a command line is everybody's to read, and an environment every program's of this user.
    """
    options = [word for host in asked.config.web.hosts for word in ("--host", host)]
    if _anonymous_read(asked, Address(*listener.getsockname()[:2])):
        options.append("--anonymous-read")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "adocd.api.web",
        "--fd", str(listener.fileno()), "--daemon-socket", str(run_dir.daemon_socket(asked.directory)),
        "--tokens", str(_tokens(asked)), "--log-format", asked.log_format, *options,
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
    """Wait for the web process to end, and end it when its event loop no longer says that it goes on; its status."""
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

"""`adocd serve`: the daemon's process; web_side has the web process beside it."""

import asyncio
import contextlib
import logging
import secrets
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

from adocd.api import server
from adocd.api.rest import app
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.book.state_dir import journal_path
from adocd.daemon.book.tokens import tokens_path
from adocd.daemon.fleet import address, garbage
from adocd.daemon.fleet.address import Address
from adocd.daemon.fleet.config import Config
from adocd.daemon.fleet.logs import Format
from adocd.daemon.fleet.operators import Operators
from adocd.daemon.fleet.reload import Reload
from adocd.daemon.fleet.run import CLOCKS, make_fleet, new_holder
from adocd.model.policy import Policy
from adocd.process.service import ServiceProcess
from adocd.process.web_side import WebSide
from adocd.targets import run_dir
from adocd.targets.agent import Agent
from adocd.targets.errors import TargetError

_log = logging.getLogger(__name__)
SYSTEM_CONFIG = Path("/etc/adocd/adocd.toml")


class CannotServe(Exception):
    """The daemon cannot start; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Serve:
    """The options given to `adocd serve`."""

    config: Config
    directory: Path
    policy: Policy | None
    dry_run: bool
    sockets: tuple[Path, ...]
    #: Where to serve TCP; None: as configured, or nowhere.
    listen: Address | None
    directories: tuple[Path, ...] = ()
    #: The file that SIGHUP reloads, and whether it existed at the start.
    config_file: Path = SYSTEM_CONFIG
    had_config: bool = False
    log_format: Format = "text"


def run(asked: Serve) -> None:
    """Serve until SIGINT or SIGTERM, then restore all changed options. Raises CannotServe."""
    try:
        run_dir.ensure(asked.directory)
        run_dir.check(asked.directory)
        with contextlib.ExitStack() as stack:
            if (web := _web_side(asked)) is not None:
                stack.enter_context(web.bound())
            daemon = stack.enter_context(server.daemon_socket(run_dir.daemon_socket(asked.directory)))
            asyncio.run(_serve(asked, daemon, web))
    except OSError as error:
        raise CannotServe(
            f"the run directory {asked.directory} cannot be used ({error.strerror or error}); "
            "set ADOCD_RUN_DIR to one you may write, or run as root"
        ) from None
    except (server.AddressInUse, ValueError) as error:
        raise CannotServe(str(error)) from None


def _web_side(asked: Serve) -> WebSide | None:
    """Make the TCP side for the command line's address, else the configuration's."""
    web = asked.config.web
    listen = asked.listen or (address.parse(web.listen) if web.listen else None)
    if listen is None:
        return None
    socket_, tokens = run_dir.daemon_socket(asked.directory), tokens_path(journal_path(asked.directory))
    return WebSide(listen, web, socket_, tokens, asked.log_format)


async def _serve(asked: Serve, daemon_listener: socket.socket, web: WebSide | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    service = ServiceProcess(stop.set)
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
            contextlib.nullcontext() if web is None else web.serving(fleet, web_secret),
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
    """Fail if a socket named on the command line is not an agent's."""
    agent = Agent(path)
    try:
        await agent.info()
    except TargetError as error:
        raise CannotServe(str(error)) from None
    finally:
        await agent.close()

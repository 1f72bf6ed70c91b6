"""`adocd serve`: the daemon's process, and the web process that it supervises."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from adocd.api import control, server
from adocd.daemon.config import Config
from adocd.daemon.run import make_fleet
from adocd.model.policy import Policy
from adocd.targets import run_dir
from adocd.targets.agent import Agent
from adocd.targets.errors import TargetError

_log = logging.getLogger(__name__)
#: Between two starts of a web process that keeps dying.
_RESTART_DELAY_S = 1.0


class CannotServe(Exception):
    """The daemon cannot start; one sentence."""


@dataclass(frozen=True, slots=True)
class Serve:
    """What `adocd serve` was asked for."""

    config: Config
    directory: Path
    policy: Policy | None
    sockets: tuple[Path, ...]
    port: int | None


def run(asked: Serve) -> None:
    """Serve until SIGINT or SIGTERM, then restore what was changed. Raises CannotServe."""
    try:
        run_dir.ensure(asked.directory)
        web_listener = None if asked.port is None else server.listen_loopback(asked.port)
        daemon_listener = server.listen_unix(run_dir.daemon_socket(asked.directory))
    except OSError as error:
        raise CannotServe(
            f"the run directory {asked.directory} cannot be used ({error.strerror}); "
            "set ADOCD_RUN_DIR to one you may write, or run as root"
        ) from None
    except (server.AddressInUse, ValueError) as error:
        raise CannotServe(str(error)) from None
    try:
        asyncio.run(_serve(asked, daemon_listener, web_listener))
    finally:
        run_dir.daemon_socket(asked.directory).unlink(missing_ok=True)


async def _serve(asked: Serve, daemon_listener: socket.socket, web_listener: socket.socket | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    for path in asked.sockets:
        await _check(path)
    fleet = make_fleet(asked.config, asked.directory, asked.policy, asked.sockets)
    discovery = asyncio.create_task(fleet.run(), name="discovery")
    try:
        async with server.serving(control.make_app(fleet), daemon_listener), _web(asked, web_listener):
            _log.info("serving at %s", run_dir.daemon_socket(asked.directory))
            await stop.wait()
            _log.info("stopping: restoring what was changed")
            discovery.cancel()
            await fleet.stop()
    finally:
        discovery.cancel()


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
async def _web(asked: Serve, listener: socket.socket | None) -> AsyncIterator[None]:
    """Keep the web process alive while the body runs."""
    if listener is None:
        yield
        return
    _log.info("read-only on http://127.0.0.1:%d", listener.getsockname()[1])
    keeper = asyncio.create_task(_keep_web(asked, listener), name="web")
    try:
        yield
    finally:
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper
        listener.close()


async def _keep_web(asked: Serve, listener: socket.socket) -> None:
    command = [
        sys.executable, "-m", "adocd.api.web",
        "--fd", str(listener.fileno()), "--daemon-socket", str(run_dir.daemon_socket(asked.directory)),
    ]  # fmt: skip
    while True:
        process = await asyncio.create_subprocess_exec(*command, pass_fds=(listener.fileno(),))
        try:
            status = await process.wait()
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
            raise
        _log.warning("the web process ended with status %d; starting it anew", status)
        await asyncio.sleep(_RESTART_DELAY_S)

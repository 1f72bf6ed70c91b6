"""Starts the web process on an inherited socket, so that a restart of it never loses the port."""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path

from fastapi import FastAPI

from adocd.api import server
from adocd.api.web import page
from adocd.api.web.access import Access
from adocd.api.web.app import make_app
from adocd.api.web.gate import Rules
from adocd.api.web.page.session import Sessions
from adocd.api.web.upstream import Upstream
from adocd.daemon.fleet import logs

#: The control loop comes first when both want the same CPU.
_NICE = 5
#: How often to tell the daemon, which supervises us, that our event loop is alive.
_BEAT_S = 2.0


async def _main(arguments: argparse.Namespace, web_secret: str) -> None:
    with contextlib.suppress(OSError):  # a service's system call filter may forbid it
        os.nice(_NICE)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_reader(sys.stdin, stop.set)  # readable when the daemon has ended, even if it was killed
    upstream = Upstream(arguments.daemon_socket, web_secret)
    app = _app(arguments, upstream, Access(arguments.tokens))
    with socket.socket(fileno=arguments.fd) as listener:
        async with server.serving(app, listener, pages=page.is_installed()):
            beating = asyncio.create_task(_beat())
            await stop.wait()
            beating.cancel()
    await upstream.close()


def _app(arguments: argparse.Namespace, upstream: Upstream, access: Access) -> FastAPI:
    """Build the application, with the page if its packages are installed."""
    open_to_all = {**Rules().open_to_all, **(page.OPEN if page.is_installed() else page.OPEN_WITHOUT)}
    rules = Rules(frozenset(arguments.host), arguments.anonymous_read, open_to_all)
    if not page.is_installed():
        app = make_app(upstream, access, rules)
        page.say_how_to_install(app)
        return app
    sessions = Sessions(access.holder)
    app = make_app(upstream, access, rules, sessions.by_cookie)
    page.install(app, upstream, sessions)
    return app


async def _beat() -> None:
    """Regularly write a byte to standard output, which the daemon reads."""
    os.set_blocking(sys.stdout.fileno(), False)
    while True:
        with contextlib.suppress(OSError):  # the pipe is full: the daemon hangs, which is not ours to handle
            os.write(sys.stdout.fileno(), b".")
        await asyncio.sleep(_BEAT_S)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--daemon-socket", type=Path, required=True)
    parser.add_argument("--tokens", type=Path, required=True)
    parser.add_argument("--host", action="append", default=[])
    parser.add_argument("--anonymous-read", action="store_true")
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    logs.to_stderr(arguments.log_format)
    # The secret is the first line of stdin: other processes of this user could read an argument or a variable.
    secret = sys.stdin.readline().strip()
    with contextlib.suppress(KeyboardInterrupt):
        if secret:  # else the daemon is gone
            asyncio.run(_main(arguments, secret))

"""Starts the web process on a socket it inherits, so that restarting it never loses the port."""

import argparse
import asyncio
import contextlib
import signal
import socket
import sys
from pathlib import Path

from adocd.api import server
from adocd.api.web.app import make_app
from adocd.api.web.upstream import Upstream
from adocd.daemon import logs


async def _main(fd: int, daemon_socket: Path) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_reader(sys.stdin, stop.set)  # readable when the daemon has ended, even if it was killed
    with socket.socket(fileno=fd) as listener:
        async with server.serving(make_app(Upstream(daemon_socket)), listener):
            await stop.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--daemon-socket", type=Path, required=True)
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    logs.to_stderr(arguments.log_format)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(arguments.fd, arguments.daemon_socket))

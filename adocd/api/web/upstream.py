"""How the web process asks the daemon."""

import asyncio
from pathlib import Path

from adocd.targets.http import UnixHttpConnection

_TIMEOUT_S = 5.0


class Upstream:
    """The daemon's REST on its Unix socket, over a few kept-alive connections."""

    def __init__(self, daemon_socket: Path, connections: int = 4) -> None:
        self._connections = [UnixHttpConnection(daemon_socket) for _ in range(connections)]
        self._free: asyncio.Queue[UnixHttpConnection] = asyncio.Queue()
        for connection in self._connections:
            self._free.put_nowait(connection)

    async def get(self, path: str) -> tuple[int, bytes]:
        """Read a path; raises TargetError when the daemon does not answer."""
        connection = await self._free.get()
        try:
            return await connection.request("GET", path, timeout_s=_TIMEOUT_S)
        finally:
            self._free.put_nowait(connection)

    async def close(self) -> None:
        """Close the connections."""
        for connection in self._connections:
            await connection.close()

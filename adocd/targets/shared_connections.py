"""Connections to one agent that all databases in its process share: a JVM can have hundreds of databases.

Each connection is a thread in the database's process, and an agent accepts only some dozens (agents/admin-api.yaml,
Limits): with one for each database, each request would throw out somebody else's connection.
"""

import asyncio
import math
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from adocd.targets.errors import Silent, Unreachable
from adocd.targets.http import UnixHttpConnection

#: Most connections for each purpose. An agent accepts at least 32, and in addition 16 that wait for events; the others
#: are for operators' tools.
MOST_READS, MOST_CHANGES, MOST_WAITS = 12, 12, 12
#: While the agent answers others, a request waits for a connection this many times as long as for an answer. The two
#: of a regular cycle must be over before the watchdog takes its loop for one that hangs (adocd.daemon.fleet.notify).
_PATIENCES = 3


class ConnectionPool:
    """At most `most` connections to the agent at `socket`; a request waits in turn for a free one."""

    def __init__(self, socket: Path, most: int) -> None:
        self.socket = socket
        self._most = most
        self._free: list[UnixHttpConnection] = []
        self._in_use = self._users = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        #: When the agent last answered somebody, by the event loop's clock.
        self._answered_s = -math.inf

    @property
    def is_full(self) -> bool:
        """Whether a request would have to wait."""
        return self._in_use >= self._most

    def user(self) -> "SharedConnection":
        """Return a connection for one user, which needs a real one only while it has a request."""
        self._users += 1
        return SharedConnection(self)

    async def take(self, patience_s: float | None) -> UnixHttpConnection:
        """Wait for a place, and return a connection to be given back.

        Raises TimeoutError, which says why, when the agent has answered nobody for `patience_s` seconds. One that is
        only slow, because it has hundreds of databases and little of the processor, is waited for three times as long.
        """
        if self.is_full:
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queue.append(place)
            try:
                await self._until(place, patience_s)
            except BaseException:
                if place.done():
                    self._hand_on()
                else:
                    self._queue.remove(place)
                raise
        else:
            self._in_use += 1
        return self._free.pop() if self._free else UnixHttpConnection(self.socket)

    async def _until(self, place: asyncio.Future[None], patience_s: float | None) -> None:
        clock = asyncio.get_running_loop().time
        began_s, left_s = clock(), patience_s
        while not place.done():
            if patience_s is not None:
                left_s = max(began_s, self._answered_s) + patience_s - clock()
                if left_s <= 0:
                    raise TimeoutError(f"answered nobody within {patience_s:g} s")
                left_s = min(left_s, began_s + _PATIENCES * patience_s - clock())
                if left_s <= 0:
                    raise TimeoutError(f"only answered others for {_PATIENCES * patience_s:g} s")
            await asyncio.wait({place}, timeout=left_s)

    def _hand_on(self) -> None:
        if self._queue:
            self._queue.popleft().set_result(None)
        else:
            self._in_use -= 1

    def answered(self) -> None:
        """Note that the agent has just answered somebody."""
        self._answered_s = asyncio.get_running_loop().time()

    async def give_back(self, connection: UnixHttpConnection, *, is_usable: bool) -> None:
        """Let others use it; close it if nobody can."""
        self._hand_on()
        if is_usable and self._users:
            self._free.append(connection)
        else:
            await connection.close()

    async def leave(self) -> None:
        """Count a user less; the last one closes the connections that are free."""
        self._users -= 1
        if not self._users:
            free, self._free = self._free, []
            for connection in free:
                await connection.close()


class SharedConnection:
    """To its user like a UnixHttpConnection of its own: one request at a time; after `close` each is refused."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._turn = asyncio.Lock()
        self._used: UnixHttpConnection | None = None
        self._closed = False

    @property
    def is_full(self) -> bool:
        """Whether a request would have to wait for those of others."""
        return self._pool.is_full

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None,
        patience_s: float | None = None,
    ) -> tuple[int, bytes]:
        """Send a request as UnixHttpConnection does, once a connection is free; `timeout_s` counts from then on.

        Raises Silent without sending it when the agent answers nobody for `patience_s` seconds (if None, `timeout_s`),
        or only others for three times as long.
        """
        async with self._turn:
            try:
                connection = await self._pool.take(timeout_s if patience_s is None else patience_s)
            except TimeoutError as error:
                raise Silent(f"{self._pool.socket} {error}, so {method} {path} was not sent") from None
            if self._closed:  # before, or while it waited
                await self._pool.give_back(connection, is_usable=True)
                raise Unreachable(f"the connection to {self._pool.socket} was closed before {method} {path}")
            self._used = connection
            try:
                answer = await connection.request(
                    method, path, query=query, body=body, headers=headers, timeout_s=timeout_s
                )
                self._pool.answered()
                return answer
            finally:
                self._used = None
                await self._pool.give_back(connection, is_usable=not self._closed)

    async def close(self) -> None:
        """Stop using it for good; a request in progress raises Unreachable."""
        if self._closed:
            return
        self._closed = True
        if self._used is not None:
            await self._used.close()
        await self._pool.leave()


class AgentConnections:
    """The connections of all databases of one agent, separate ones for reading, changing and waiting.

    Changes can take long: RocksDB holds one until a write stall is over.
    """

    def __init__(self, socket: Path) -> None:
        self.reads = ConnectionPool(socket, MOST_READS)
        self.changes = ConnectionPool(socket, MOST_CHANGES)
        self.waits = ConnectionPool(socket, MOST_WAITS)

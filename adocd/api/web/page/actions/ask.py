"""Asks the daemon to do something in the name of the logged-in token holder."""

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from adocd.api.web.upstream import Upstream
from adocd.targets.errors import Busy, Silent, TargetError

if TYPE_CHECKING:
    from adocd.api.web.access import TokenHolder

_JSON = {"content-type": "application/json"}


class NotDone(Exception):
    """An action was not done; its text is one sentence with the reason."""


class Actions:
    """REST for one visitor; looks the token up again each time, because it may have been revoked."""

    def __init__(self, upstream: Upstream, holder: "Callable[[], Awaitable[TokenHolder | None]]") -> None:
        self._upstream = upstream
        self._holder = holder

    async def do(self, method: str, path: str, body: object = None, etag: str | None = None) -> Any:
        """Change something. Raises NotDone with the daemon's sentence, or ours if the visitor may not operate."""
        holder = await self._holder()
        if holder is None:
            raise NotDone("your log-in has ended; log in again with a token")
        if not holder.may_operate:
            raise NotDone(f"the token {holder.name} is for reading only")
        headers = _JSON | ({"if-match": etag} if etag else {})
        return (await self._ask(method, path, body, holder, headers))[1]

    async def read(self, path: str) -> tuple[dict[str, str], Any]:
        """Read something that is not in the feed; return headers and content. Raises NotDone."""
        return await self._ask("GET", path, None, await self._holder(), {})

    async def _ask(
        self, method: str, path: str, body: object, holder: "TokenHolder | None", headers: dict[str, str]
    ) -> tuple[dict[str, str], Any]:
        content = None if body is None else json.dumps(body).encode()
        try:
            status, answered, answer = await self._upstream.request(method, path, content, holder, headers)
        except TargetError as error:
            may_be_done = method != "GET" and isinstance(error, Silent) and not isinstance(error, Busy)
            unknown = "; the audit trail will say whether it was done" if may_be_done else ""
            raise NotDone(f"the daemon does not answer: {error}{unknown}") from None
        try:
            said = json.loads(answer) if answer else None
        except ValueError:
            raise NotDone(f"the answer to {method} {path} is not JSON") from None
        if status >= 400:
            detail = said.get("detail") if isinstance(said, dict) else None
            raise NotDone(str(detail or f"{method} {path} was refused with status {status}"))
        return answered, said

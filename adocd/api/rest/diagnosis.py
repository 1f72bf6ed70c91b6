"""The route of a target's stalls: how long, when, why, and what would likely help."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

from adocd.api.rest.document import TargetId, errors
from adocd.daemon.control.target_loop import TargetLoop


def install(
    app: FastAPI,
    find: Callable[[str], TargetLoop],
) -> None:
    """Add the route."""

    @app.get("/v1/targets/{target}/diagnosis", summary="What stalled, and why", responses=errors(404))
    async def diagnosis(target: TargetId) -> dict[str, Any]:
        """Return what `adocctl explain --json` prints, for the time since the daemon found the target."""
        loop = find(target)
        return {"target": loop.id, "path": loop.path} | await loop.diagnosis()

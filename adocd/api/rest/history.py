"""The route of charts: a target's figures over time, thinned by the daemon."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import FastAPI, Query, Response
from pydantic import TypeAdapter

from adocd.api.rest.document import TargetId, errors
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.watch.history import REACH_S, Packed, Point, Resolution, resolution_for, thinned

#: Year 5138; a larger number is a time in milliseconds by mistake.
_LAST_UNIX_S = 1e11
_POINTS_MAX = 2000


@dataclass(frozen=True, slots=True)
class HistoryView:
    """A target's figures over time, oldest first; each point stands for at most `resolution_s` seconds."""

    target: TargetId
    resolution_s: float
    from_unix_s: float
    to_unix_s: float
    points: list[Point]


_HISTORY = TypeAdapter(HistoryView)
UnixTime = Annotated[float | None, Query(ge=0, le=_LAST_UNIX_S, allow_inf_nan=False, description="unix seconds")]


def install(
    app: FastAPI,
    find: Callable[[str], TargetLoop],
    wall_clock: Callable[[], float],
) -> None:
    """Add the route. `wall_clock` gives seconds since the epoch."""

    @app.get(
        "/v1/targets/{target}/history",
        summary="Its figures over time, for charts",
        response_model=HistoryView,
        responses=errors(404, 422),
    )
    async def history(
        target: TargetId,
        from_unix_s: UnixTime = None,
        to_unix_s: UnixTime = None,
        resolution: Annotated[
            Resolution | None, Query(description="1s reaches back 15 minutes, 1m 24 hours; default: by the range")
        ] = None,
        points: Annotated[int, Query(ge=1, le=_POINTS_MAX, description="most points to return")] = 600,
    ) -> Response:
        """Return the last 15 minutes, or the given range, thinned so that peaks survive.

        The history is in memory: it starts again when the daemon restarts, but not when the database closes. Where
        nothing was measured, for example while the agent was silent, points are missing, and `interval_s` of the next
        point covers the gap.
        """
        loop = find(target)
        now_s = wall_clock()
        to_s = now_s if to_unix_s is None else to_unix_s
        from_s = max(0.0, to_s - REACH_S["1s"]) if from_unix_s is None else from_unix_s
        from_s, to_s = min(from_s, to_s), max(from_s, to_s)
        tier = resolution or resolution_for(from_s, now_s)
        packed = loop.remembered.history.read(tier)
        # Outside the event loop: a day takes 20 ms, and the control loop must not wait for it.
        content = await asyncio.to_thread(_shown, loop.id, packed, tier, (from_s, to_s), points)
        return Response(content, media_type="application/json")


def _shown(
    target: TargetId, packed: tuple[Packed, ...], tier: Resolution, between_unix_s: tuple[float, float], most: int
) -> bytes:
    width_s, found = thinned(packed, tier, *between_unix_s, most)
    return _HISTORY.dump_json(HistoryView(target, width_s, *between_unix_s, found))

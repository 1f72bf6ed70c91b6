"""The route of a target's samples."""

import asyncio
from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Query, Response
from pydantic import BaseModel, TypeAdapter

from adocd.api.rest.document import TargetId, errors
from adocd.api.rest.views import ShownSample
from adocd.daemon.control.target_loop import TargetLoop

#: An answer ends with the sample that reaches this size: with hundreds of column families, all that are kept would take
#: a hundred MB.
_ANSWER_BYTES = 8 << 20


class SamplesView(BaseModel):
    """Samples, oldest first."""

    samples: list[ShownSample]


_SAMPLE: TypeAdapter[ShownSample] = TypeAdapter(ShownSample)


def install(app: FastAPI, find: Callable[[str], TargetLoop]) -> None:
    """Add the route."""
    turn = asyncio.Lock()

    @app.get(
        "/v1/targets/{target}/samples",
        summary="Its samples, oldest first",
        response_model=SamplesView,
        responses=errors(404, 422),
    )
    async def samples(
        target: TargetId,
        after: Annotated[
            int,
            Query(
                ge=0,
                description="only those with a larger sequence number; if it is larger than the newest, it is of an "
                "earlier session, and all of the last one are returned",
            ),
        ] = 0,
        limit: Annotated[int, Query(ge=1, le=1000, description="most samples to return; the oldest come first")] = 1000,
    ) -> Response:
        """Poll with the last sequence number as `after`, until there are none: an answer ends at 8 MiB, too.

        Options and events are only in the target's last sample.
        """
        shown, size = [], 0
        for sample in find(target).remembered.samples.newer(after, limit):
            # One sample of one reader at a time, and then it is the control loop's turn, however many read.
            async with turn:
                shown.append(_SAMPLE.dump_json(sample))
                await asyncio.sleep(0)
            size += len(shown[-1])
            if size >= _ANSWER_BYTES:
                break
        return Response(b'{"samples":[' + b",".join(shown) + b"]}", media_type="application/json")

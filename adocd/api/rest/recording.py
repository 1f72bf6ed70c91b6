"""What REST tells a recorder: a target's snapshots as its agent reported them."""

import itertools
from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Query, Response

from adocd.api.rest.document import TargetId, errors
from adocd.daemon.control.status import Status
from adocd.daemon.control.target_loop import TargetLoop
from adocd.recording.format import SEEN, About, Rule, Seen

#: More than are taken between two looks.
_DECISIONS = 10


def install(
    app: FastAPI,
    find: Callable[[str], TargetLoop],
    memory: Callable[[str], tuple[int, int]],
) -> None:
    """Add the route; `memory` gives the budget of all memtables, and what those of the other targets may take."""

    @app.get(
        "/v1/targets/{target}/snapshot",
        summary="What its agent reported last: counters and options, as they are",
        response_model=Seen,
        responses=errors(404, 422),
    )
    async def snapshot(
        target: TargetId,
        after: Annotated[
            int, Query(ge=0, description="the `look` of the last one that came; it is not sent again")
        ] = 0,
    ) -> Response:
        """Poll it to record a target: each look of the daemon's has a number, so that none is missed unnoticed."""
        loop = find(target)
        budget_bytes, _ = memory(loop.id)
        # Made here, for a snapshot of many column families is large, and the framework would go over it twice.
        return Response(SEEN.dump_json(seen(loop, after, budget_bytes)), media_type="application/json")


def seen(loop: TargetLoop, after: int, memory_budget_bytes: int) -> Seen:
    """Show a target's last look, unless it is the one with this number."""
    status = loop.status
    records = list(itertools.islice(reversed(loop.remembered.decisions), _DECISIONS))
    is_new = status.looks != after
    return Seen(
        look=status.looks,
        tick_s=status.tick_s,
        path=status.path,
        state=status.state,
        rule=Rule(status.policy, status.paused),
        about=_about(status, memory_budget_bytes) if is_new else None,
        snapshot=status.snapshot if is_new else None,
        decisions=tuple(reversed(records)),
    )


def _about(status: Status, memory_budget_bytes: int) -> About | None:
    info, detail = status.info, status.detail
    if info is None or detail is None or status.originals is None:
        return None
    return About(
        session=detail.session,
        rocksdb_version=info.rocksdb_version,
        agent=f"{info.agent.kind} {info.agent.version}",
        capabilities=detail.capabilities,
        column_families=detail.column_families,
        originals=status.originals,
        memory_budget_bytes=memory_budget_bytes,
        memory_limit_bytes=status.memory_limit_bytes,
    )

"""The route for recorders: a target's snapshots as its agent reported them."""

import itertools
from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Query, Response

from adocd.api.rest.document import TargetId, errors
from adocd.daemon.control.status import Status
from adocd.daemon.control.target_loop import TargetLoop
from adocd.recording.format import SEEN, About, Rule, Seen

#: Decisions sent with each look: more than a law takes between two looks.
_DECISIONS = 10


def install(
    app: FastAPI,
    find: Callable[[str], TargetLoop],
    memory: Callable[[str], tuple[int, int]],
) -> None:
    """Add the route; `memory` returns the budget of all memtables and the share of the other targets, in bytes."""

    @app.get(
        "/v1/targets/{target}/snapshot",
        summary="Its agent's last report: counters and options, unprocessed",
        response_model=Seen,
        responses=errors(404, 422),
    )
    async def snapshot(
        target: TargetId,
        after: Annotated[
            int, Query(ge=0, description="the `look` of the last answer; that snapshot is not sent again")
        ] = 0,
    ) -> Response:
        """Poll it to record a target: the daemon numbers its looks at the target, so you notice a missed one."""
        loop = find(target)
        budget_bytes, _ = memory(loop.id)
        # Serialized here: a snapshot of many column families is large, and the framework would walk it twice.
        return Response(SEEN.dump_json(seen(loop, after, budget_bytes)), media_type="application/json")


def seen(loop: TargetLoop, after: int, memory_budget_bytes: int) -> Seen:
    """Show the daemon's last look at a target; without the snapshot if `after` is the number of that look."""
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

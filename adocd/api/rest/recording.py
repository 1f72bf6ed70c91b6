"""What REST tells a recorder: a target's snapshots as its agent reported them."""

import itertools
from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Query, Response

from adocd.api.rest.document import TargetId, errors
from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.values import nested
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
    records = list(itertools.islice(reversed(loop.decisions), _DECISIONS))
    is_new = loop.looks != after
    return Seen(
        look=loop.looks,
        tick_s=loop.tick_s,
        path=loop.path,
        state=loop.state,
        rule=Rule(loop.policy, loop.paused),
        about=_about(loop, memory_budget_bytes) if is_new else None,
        snapshot=loop.snapshot if is_new else None,
        decisions=tuple(reversed(records)),
    )


def _about(loop: TargetLoop, memory_budget_bytes: int) -> About | None:
    info, session = loop.info, loop.session
    if info is None or session is None:
        return None
    return About(
        session=session.detail.session,
        rocksdb_version=info.rocksdb_version,
        agent=f"{info.agent.kind} {info.agent.version}",
        capabilities=session.detail.capabilities,
        column_families=session.detail.column_families,
        originals=nested(session.ledger.baseline),
        memory_budget_bytes=memory_budget_bytes,
        memory_limit_bytes=loop.memory_limit_bytes,
    )

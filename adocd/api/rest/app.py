"""The daemon's REST API on its Unix socket; unlike over TCP, clients may do everything."""

import asyncio
import functools
import os
from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, FastAPI, Query

from adocd import __version__
from adocd.api import caller, limits, problems
from adocd.api.rest import (
    audit,
    controllers,
    diagnosis,
    document,
    events,
    forget,
    found,
    history,
    lint,
    operate,
    policies,
    policy,
    recording,
    samples,
    tokens,
    verdict,
    views,
    vitals,
)
from adocd.api.rest.document import TargetId, errors
from adocd.controllers.registry import PolicyError
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.book.tokens import TokenStore, tokens_path
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.forgetting import closed
from adocd.daemon.fleet.operators import CannotDo, NotUnderstood, Operators
from adocd.daemon.fleet.several import NoneMatch, Several

#: How a request ends that the daemon refuses; the sentence is the error's.
_STATUSES: Mapping[type[Exception], int] = {
    PolicyError: 422, NotUnderstood: 422, NoneMatch: 404, CannotDo: 409, JournalError: 409
}  # fmt: skip


def make_app(fleet: Fleet, operators: Operators, web_secret: str | None = None) -> FastAPI:
    """Build the REST application of a fleet and its operators; for `web_secret` see caller.trust_web."""
    app = FastAPI(
        title="adocd",
        version=__version__,
        redirect_slashes=False,
        openapi_url=None,
        dependencies=[Depends(caller.from_web)],
    )
    if web_secret is not None:
        caller.trust_web(app, web_secret)
    app.add_middleware(limits.WholeBody)
    problems.install(app)
    problems.answers_with(app, _STATUSES)
    _health(app, fleet, operators.book)
    _targets(app, fleet, operators.book)
    find = functools.partial(found.loop_of, fleet)
    turn = asyncio.Lock()
    policy.install(app, find, operators, turn)
    policies.install(app, Several(fleet, operators.book, operators), turn)
    operate.install(app, find, functools.partial(found.loop_or_kept, fleet, operators.book), operators)
    audit.install(app, operators.book)
    forget.install(app, fleet, operators.book)
    lint.install(app, find, fleet.memory_of)
    diagnosis.install(app, find)
    verdict.install(app, find, operators)
    events.install(app, fleet, functools.partial(found.loop_or_kept, fleet, operators.book))
    samples.install(app, find)
    history.install(app, find, fleet.wall_clock)
    recording.install(app, find, fleet.memory_of)
    store = TokenStore(tokens_path(operators.book.path), fleet.wall_clock)
    tokens.install(app, store, functools.partial(fleet.audit.note, "token"))
    vitals.install(app, fleet, operators.book)
    document.install(app)
    return app


def _health(app: FastAPI, fleet: Fleet, book: Book) -> None:
    @app.get("/healthz", summary="Whether the daemon is alive", responses=errors())
    async def healthz() -> views.HealthView:
        return views.HealthView(
            status="ok",
            version=__version__,
            pid=os.getpid(),
            targets=len(fleet.loops),
            journal=views.JournalView.of(book),
            web_problem=fleet.settings.vitals.web_problem,
        )

    @app.get("/v1/controllers", summary="The control laws that a policy can name", responses=errors())
    async def laws() -> controllers.ControllersView:
        return controllers.listed()


def _targets(app: FastAPI, fleet: Fleet, book: Book) -> None:
    @app.get("/v1/targets", summary="All targets", responses=errors())
    async def targets() -> views.TargetsView:
        return views.TargetsView(
            targets=[views.target(loop.status) for loop in fleet.loops.values()],
            kept=[views.KeptView.of(one) for id_, one in closed(fleet, book).items() if id_ not in fleet.loops],
            problems=fleet.problems | fleet.directories.problems,
            journal=views.JournalView.of(book),
            web_problem=fleet.settings.vitals.web_problem,
        )

    @app.get("/v1/targets/{target}", summary="One target", responses=errors(404))
    async def target(target: TargetId) -> views.TargetDetailView:
        return views.target_detail(found.loop_of(fleet, target).status)

    @app.get("/v1/targets/{target}/decisions", summary="Its decisions, oldest first", responses=errors(404, 422))
    async def decisions(
        target: TargetId,
        limit: Annotated[int, Query(ge=1, le=1000, description="most decisions to return: the newest ones")] = 100,
        before: Annotated[int | None, Query(ge=0, description="only those with a smaller sequence number")] = None,
        after: Annotated[int, Query(ge=0, description="only those with a larger sequence number")] = 0,
    ) -> views.DecisionsView:
        """Return the newest decisions, or those before or after one.

        A decision keeps its number as long as the daemon knows the target. Numbers begin at 1 again when the daemon
        was restarted, and when the target opens again after it was closed for an hour and forgotten.
        """
        meant = [
            record
            for record in found.loop_of(fleet, target).remembered.decisions
            if record.sequence > after and (before is None or record.sequence < before)
        ]
        records = meant[-limit:]
        return views.DecisionsView(
            decisions=records, next_before=records[0].sequence if len(meant) > len(records) else None
        )

    @app.get(
        "/v1/targets/{target}/decisions/of-all-runs",
        summary="Its decisions as the journal has them, also of former runs of the daemon, oldest first",
        responses=errors(404, 409, 422),
    )
    async def decisions_of_all_runs(
        target: TargetId,
        limit: Annotated[int, Query(ge=1, le=1000, description="most decisions to return: the newest ones")] = 100,
    ) -> views.JournaledDecisionsView:
        """Return them also for a closed database of which something is kept."""
        place = found.loop_or_kept(fleet, book, target)
        return views.JournaledDecisionsView(decisions=list(await book.decisions(place.id, limit)))

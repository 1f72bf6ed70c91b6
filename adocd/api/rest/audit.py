"""The route of the audit trail: what people did."""

from typing import Annotated

from fastapi import FastAPI, Query
from pydantic import BaseModel, Field

from adocd.api.rest.document import ID_BEGINS, ID_IN_WORDS, errors
from adocd.api.rest.matching import documented, matching
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.records import Operation


class OperationsView(BaseModel):
    """Entries of the audit trail, oldest first."""

    operations: list[Operation]
    next_before: int | None = Field(description="`before` of the request for older ones; null: there are none")


def install(
    app: FastAPI,
    book: Book,
) -> None:
    """Add the route."""

    @app.get("/v1/operations", summary="The audit trail: who did what", responses=errors(422))
    async def operations(
        target: Annotated[
            str | None,
            matching(ID_BEGINS, ID_IN_WORDS),
            Query(
                description="the beginning of a target's id: what was done to it or to all targets",
                json_schema_extra=documented(ID_BEGINS),
            ),
        ] = None,
        limit: Annotated[int, Query(ge=1, le=1000, description="most entries to return: the newest ones")] = 100,
        before: Annotated[int | None, Query(ge=0, description="only those with a smaller id")] = None,
    ) -> OperationsView:
        """Return the newest entries, or those before an id. The newest 10,000 survive a restart of the daemon."""
        found: list[Operation] = []
        for operation in reversed(book.operations):
            concerned = target is None or operation.target is None or operation.target.startswith(target)
            if concerned and (before is None or operation.id < before):
                if len(found) == limit:
                    return OperationsView(operations=found[::-1], next_before=found[-1].id)
                found.append(operation)
        return OperationsView(operations=found[::-1], next_before=None)

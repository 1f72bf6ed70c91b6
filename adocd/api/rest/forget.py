"""The route that forgets a closed database."""

from typing import Annotated

from fastapi import FastAPI, Query
from pydantic import BaseModel

from adocd.api.caller import Caller
from adocd.api.rest import found
from adocd.api.rest.document import TargetId, errors
from adocd.api.rest.views import KeptView
from adocd.daemon.book.book import Book
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.forgetting import closed, forget

OriginalsToo = Annotated[
    bool, Query(description="forget the originals that are due to it, too: for a database that was deleted")
]


class ForgottenView(BaseModel):
    """What was kept of the forgotten database."""

    forgotten: KeptView


def install(app: FastAPI, fleet: Fleet, book: Book) -> None:
    """Add the route."""

    @app.delete(
        "/v1/targets/{target}",
        summary="Forget a closed database: its policy, pins, pause, decisions and figures",
        responses=errors(404, 409),
    )
    async def forget_target(target: TargetId, who: Caller, originals: OriginalsToo = False) -> ForgottenView:
        """Refused while it is open, is observed by its directory, or is owed the originals of changed options."""
        known = {id_: loop.path for id_, loop in fleet.loops.items()}
        known |= {id_: kept.path for id_, kept in closed(fleet, book).items()}
        meant = found.one_of(known, target)
        return ForgottenView(forgotten=KeptView.of(await forget(fleet, book, meant, who, originals_too=originals)))

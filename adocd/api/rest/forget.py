"""The route that forgets a closed database."""

from fastapi import FastAPI
from pydantic import BaseModel

from adocd.api.caller import Caller
from adocd.api.problems import ProblemError
from adocd.api.rest.document import TargetId, errors
from adocd.api.rest.views import KeptView
from adocd.daemon.book.book import Book
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.forgetting import closed, forget
from adocd.daemon.fleet.operators import CannotDo
from adocd.targets.names import no_such


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
    async def forget_target(target: TargetId, who: Caller) -> ForgottenView:
        """Refused while it is open, is observed by its directory, or is owed the originals of changed options."""
        known = {id_: loop.path for id_, loop in fleet.loops.items()}
        known |= {id_: kept.path for id_, kept in closed(fleet, book).items()}
        found = [id_ for id_ in known if id_.startswith(target)]
        if len(found) > 1:
            several = ", ".join(f"{id_} ({known[id_]})" for id_ in found)
            raise ProblemError(404, f"more than one target has an id that begins with {target!r}: {several}")
        if not found:
            raise ProblemError(404, no_such(target, known.items()))
        try:
            return ForgottenView(forgotten=KeptView.of(await forget(fleet, book, found[0], who)))
        except CannotDo as error:
            raise ProblemError(409, str(error)) from None

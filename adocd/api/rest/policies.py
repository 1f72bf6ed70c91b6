"""The routes of the policies of several targets at once, which are meant by patterns of path and labels."""

import asyncio
from collections.abc import Awaitable
from typing import Annotated

from fastapi import FastAPI, Query
from pydantic import BaseModel, Field, StringConstraints

from adocd.api.caller import Caller
from adocd.api.problems import ProblemError
from adocd.api.rest.document import errors
from adocd.api.rest.matching import documented
from adocd.api.rest.views import PolicyView
from adocd.daemon.fleet.several import DoneToSeveral, Several
from adocd.model.selector import NAMES, NoSelector, Selector, parse

_CONDITION = rf"^({'|'.join(NAMES)})=[^\x00-\x1f\x7f]+$"
Where = Annotated[
    list[
        Annotated[
            str,
            StringConstraints(max_length=1000),
            Field(json_schema_extra=documented(_CONDITION)),  # documented, not checked: `parse` says more
        ]
    ],
    Query(
        min_length=1,
        max_length=len(NAMES),
        description="a condition NAME=PATTERN, in which * and ? match as in a shell; several must all match. NAME is "
        f"one of {', '.join(NAMES)}",
        examples=[["application=orders"]],
    ),
]


class PoliciesView(BaseModel):
    """What became of the policies of all open targets that match; one that opens later has the configuration's."""

    policy: PolicyView | None = Field(description="null: each has the configuration's again")
    done: dict[str, str] = Field(description="the paths of the targets to which it was done, by id")
    failed: dict[str, str] = Field(description="why it could not be done to others that match, in one sentence, by id")
    closed: dict[str, str] = Field(description="the paths of closed targets that match, by id: left as they are")

    @classmethod
    def of(cls, policy: PolicyView | None, done: DoneToSeveral) -> "PoliciesView":
        """Show it."""
        return cls(policy=policy, done=dict(done.done), failed=dict(done.failed), closed=dict(done.closed))


def install(app: FastAPI, several: Several, turn: asyncio.Lock) -> None:
    """Add the routes; `turn` keeps their changes apart from those of single targets."""

    async def done(what: Awaitable[DoneToSeveral]) -> DoneToSeveral:
        async with turn:
            return await what

    @app.put(
        "/v1/policy",
        summary="Set the policy of all open targets that match, until it is reset; ends their pauses",
        responses=errors(404, 409, 422),
    )
    async def set_policies(policy: PolicyView, where: Where, who: Caller) -> PoliciesView:
        selector, wanted, asked = _selector(where), policy.policy(), several.pauses_entered
        return PoliciesView.of(policy, await done(several.set_policy(selector, wanted, who, asked)))

    @app.delete(
        "/v1/policy",
        summary="Reset the policy of all open targets that match to the configuration's",
        responses=errors(404, 409, 422),
    )
    async def reset_policies(where: Where, who: Caller) -> PoliciesView:
        return PoliciesView.of(None, await done(several.reset_policy(_selector(where), who)))


def _selector(where: list[str]) -> Selector:
    try:
        return parse(where)
    except NoSelector as error:
        raise ProblemError(422, f"where: {error}") from None

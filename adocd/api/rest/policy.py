"""The routes of a target's policy: read, compare, set, reset. An ETag prevents lost updates."""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import FastAPI, Header, Response
from pydantic import BaseModel, Field

from adocd.api.caller import Caller
from adocd.api.problems import ProblemError
from adocd.api.rest.document import TargetId, errors
from adocd.api.rest.views import PolicyView
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.operators import CannotDo, Operators, in_words
from adocd.daemon.fleet.policy_changes import Change, changes

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description="an ETag from GET: changes the policy only if it is still the same one",
        examples=['"4c9184f37cff01bc"'],
    ),
]


#: The header of each answer that has a policy as its body.
_SHOWN: dict[int | str, dict[str, Any]] = {
    200: {"headers": {"ETag": {"description": "for If-Match", "schema": {"type": "string"}, "required": True}}}
}


class DifferenceView(BaseModel):
    """The changes that a policy would make; `refused`: why it would be refused, in one sentence."""

    etag: str = Field(description="the ETag of the policy in force, which is compared; for If-Match")
    changes: list[Change]
    refused: str | None = Field(description="null: it would be accepted")


def install(app: FastAPI, find: Callable[[str], TargetLoop], operators: Operators, turn: asyncio.Lock) -> None:
    """Add the routes. `turn`: nobody else may change the policy between the check of its ETag and the change."""

    def shown(loop: TargetLoop, response: Response) -> PolicyView:
        response.headers["ETag"] = etag(PolicyView.of(loop.status.policy))
        return PolicyView.of(loop.status.policy)

    @app.get("/v1/targets/{target}/policy", summary="Its policy", responses=_SHOWN | errors(404))
    async def policy(target: TargetId, response: Response) -> PolicyView:
        return shown(find(target), response)

    @app.post(
        "/v1/targets/{target}/policy/difference", summary="What a policy would change", responses=errors(404, 422)
    )
    async def difference(target: TargetId, policy: PolicyView) -> DifferenceView:
        """Compare with the policy in force; change nothing."""
        loop, refused = find(target), None
        wanted = policy.policy()
        try:
            operators.check_policy(loop, wanted)
        except CannotDo as error:
            refused = str(error)
        now = loop.status.policy
        return DifferenceView(etag=etag(PolicyView.of(now)), changes=list(changes(now, wanted)), refused=refused)

    @app.put(
        "/v1/targets/{target}/policy",
        summary="Set its policy until it is reset; ends a pause",
        responses=_SHOWN | errors(404, 409, 412, 422),
    )
    async def set_policy(
        target: TargetId, policy: PolicyView, who: Caller, response: Response, if_match: IfMatch = None
    ) -> PolicyView:
        loop, asked = find(target), operators.book.pauses.entered
        async with turn:
            _see_that_it_matches(loop, if_match)
            await operators.set_policy(loop, policy.policy(), who, asked)
        return shown(loop, response)

    @app.delete(
        "/v1/targets/{target}/policy",
        summary="Reset its policy to the configuration's",
        responses=_SHOWN | errors(404, 409, 412),
    )
    async def reset_policy(target: TargetId, who: Caller, response: Response, if_match: IfMatch = None) -> PolicyView:
        loop = find(target)
        async with turn:
            _see_that_it_matches(loop, if_match)
            await operators.reset_policy(loop, who)
        return shown(loop, response)


def etag(policy: PolicyView) -> str:
    """Return the ETag of a policy: a hash of its content, in quotes."""
    return f'"{hashlib.sha256(policy.model_dump_json().encode()).hexdigest()[:16]}"'


def _see_that_it_matches(loop: TargetLoop, if_match: str | None) -> None:
    if if_match is None or if_match.strip() == "*":
        return
    now = etag(PolicyView.of(loop.status.policy))
    if now not in [given.strip() for given in if_match.split(",")]:
        raise ProblemError(
            412,
            f"the policy of {loop.path} is not what you saw: it is {in_words(loop.status.policy)}, ETag {now}; "
            "look at it and decide anew",
        )

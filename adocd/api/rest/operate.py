"""The operators' routes other than policies: overrides, pauses and restores, for one target or for all."""

from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Path, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from adocd.api.caller import Caller
from adocd.api.problems import ProblemError
from adocd.api.rest.document import TargetId, errors
from adocd.api.rest.matching import documented, encodable, matching
from adocd.api.rest.views import RestoredView
from adocd.daemon.book import overrides
from adocd.daemon.book.journal.records import Override
from adocd.daemon.book.kept import KeptTarget
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.operators import Operators, OverrideRequest, PinState, family_in_words
from adocd.daemon.fleet.quantities import Seconds, or_text
from adocd.model.nearest import instead

Find = Callable[[str], TargetLoop]
FindKept = Callable[[str], TargetLoop | KeptTarget]

_FOREVER_S = 366 * 86400.0
_WARNING = "why this would not survive a restart of the daemon yet"


#: One line without control characters: logs and terminals show it.
_ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
Reason = Annotated[
    str,
    StringConstraints(max_length=500),
    AfterValidator(encodable),
    matching(_ONE_LINE, "one line without control characters"),
    Field(json_schema_extra=documented(_ONE_LINE)),
]
Option = Annotated[
    str,
    Path(
        description="RocksDB's name of the option, or rate_limiter_bytes_per_s, thread_pool_low, thread_pool_high",
        json_schema_extra={"enum": list(overrides.PINNABLE)},
        examples=["write_buffer_size"],
    ),
]
Family = Annotated[str | None, Query(description="the pin of this column family; default: that of all of them")]


class OverrideBody(BaseModel):
    """A request to pin an option."""

    model_config = ConfigDict(extra="forbid", strict=True)

    value: str = Field(
        min_length=1,
        max_length=64,
        description="in RocksDB's notation, or a size or rate with a unit",
        examples=["134217728", "128MiB"],
    )
    column_family: Annotated[str, AfterValidator(encodable)] | None = Field(
        default=None, description="only this column family; default: all"
    )
    for_s: Annotated[Seconds, Field(gt=0, le=_FOREVER_S, json_schema_extra=or_text)] | None = Field(
        default=3600.0, description="null: until it is removed", examples=[3600.0, "2h"]
    )
    reason: Reason = Field(default="", examples=["a bulk load"])


class OverrideView(BaseModel):
    """A pin and its effect."""

    target: str | None = Field(description="null: all targets")
    option: str
    column_family: str | None
    value: str
    remaining_s: float | None = Field(description="null: until it is removed")
    reason: str
    who: str
    unix_s: float
    ineffective: str | None = Field(description="why it has no effect now, in one sentence")

    @classmethod
    def of(cls, state: PinState) -> "OverrideView":
        """Show an override."""
        override = state.override
        return cls(
            target=override.target,
            option=override.option,
            column_family=override.column_family,
            value=override.value,
            remaining_s=state.remaining_s,
            reason=override.reason,
            who=override.who,
            unix_s=override.unix_s,
            ineffective=state.ineffective,
        )


class OverridesView(BaseModel):
    """The pins that apply to a target, those for all targets first."""

    overrides: list[OverrideView]


class PauseBody(BaseModel):
    """Why the law is to be paused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    reason: Reason = Field(default="", examples=["maintenance"])


class PausedView(BaseModel):
    """Who paused the law and why (null: it is not paused), and whether it was paused before."""

    paused: str | None
    was_paused: bool = Field(description="of all targets: whether any was")
    warning: str | None = Field(default=None, description=_WARNING)


class RemovedView(BaseModel):
    """Whether a pin was removed."""

    removed: bool
    warning: str | None = Field(default=None, description=_WARNING)


def install(app: FastAPI, find: Find, find_kept: FindKept, operators: Operators) -> None:
    """Add the routes; `find_kept` also finds closed databases of which something is kept."""
    _overrides(app, find, find_kept, operators)
    _pauses(app, find, operators)
    _restore(app, find, operators)


def _overrides(app: FastAPI, find: Find, find_kept: FindKept, operators: Operators) -> None:
    async def pin(loop: TargetLoop | None, option: str, body: OverrideBody, who: str) -> OverrideView:
        asked = OverrideRequest(option, body.column_family, body.value, body.for_s, body.reason, who)
        return OverrideView.of(await operators.pin(loop, asked))

    def pins_of(place: TargetLoop | KeptTarget | None) -> tuple[PinState, ...]:
        if not isinstance(place, KeptTarget):
            return operators.overrides_of(place)
        book = operators.book
        pins = book.overrides_of(place.id)
        return tuple(PinState(pin.override, book.remaining_s(pin), "the database is closed") for pin in pins)

    async def unpin(
        place: TargetLoop | KeptTarget | None, option: str, column_family: str | None, who: str
    ) -> RemovedView:
        if not operators.unpin(place, option, column_family, who):
            of, id_ = family_in_words(column_family), None if place is None else place.id
            own = [pin.override for pin in pins_of(place) if pin.override.target == id_]
            where = "for all targets" if place is None else f"on {place.path}"
            raise ProblemError(404, f"{option}{of} is not pinned {where}{_pinned_instead(option, own)}")
        return RemovedView(removed=True, warning=await operators.not_durable())

    def listed(place: TargetLoop | KeptTarget | None) -> OverridesView:
        return OverridesView(overrides=[OverrideView.of(state) for state in pins_of(place)])

    @app.get("/v1/targets/{target}/overrides", summary="Its pins, and those for all targets", responses=errors(404))
    async def overrides_of_one(target: TargetId) -> OverridesView:
        """Return them also for a closed database of which something is kept."""
        return listed(find_kept(target))

    @app.put("/v1/targets/{target}/overrides/{option}", summary="Pin an option", responses=errors(404, 409, 422))
    async def override(target: TargetId, option: Option, body: OverrideBody, who: Caller) -> OverrideView:
        return await pin(find(target), option, body, who)

    @app.delete("/v1/targets/{target}/overrides/{option}", summary="Remove a pin", responses=errors(404))
    async def remove(target: TargetId, option: Option, who: Caller, column_family: Family = None) -> RemovedView:
        """Remove it also from a closed database of which something is kept."""
        return await unpin(find_kept(target), option, column_family, who)

    @app.get("/v1/overrides", summary="The pins for all targets", responses=errors())
    async def overrides_of_all() -> OverridesView:
        return listed(None)

    @app.put("/v1/overrides/{option}", summary="Pin an option on all targets", responses=errors(404, 409, 422))
    async def override_all(option: Option, body: OverrideBody, who: Caller) -> OverrideView:
        return await pin(None, option, body, who)

    @app.delete("/v1/overrides/{option}", summary="Remove a pin on all targets", responses=errors(404))
    async def remove_from_all(option: Option, who: Caller, column_family: Family = None) -> RemovedView:
        return await unpin(None, option, column_family, who)


def _pinned_instead(option: str, own: list[Override]) -> str:
    """Name what is pinned there instead of this option, or of this column family's."""
    if any(pin.option == option for pin in own):
        families = [pin.column_family or "all column families" for pin in own if pin.option == option]
        return f"; it is pinned for {', '.join(families)}"
    return instead(option, (pin.option for pin in own)).replace("; there", "; pinned") or "; nothing is"


def _pauses(app: FastAPI, find: Find, operators: Operators) -> None:
    async def pause(loop: TargetLoop | None, reason: str, who: str) -> PausedView:
        book, target = operators.book, None if loop is None else loop.id
        was_paused = book.pauses.is_paused(target)
        operators.pause(loop, f"{who} paused it" + (f": {reason}" if reason else ""), who)
        in_force = book.pauses.of(target)  # a restore stays one
        return PausedView(
            paused=None if in_force is None else in_force.reason,
            was_paused=was_paused,
            warning=await operators.not_durable(),
        )

    @app.post(
        "/v1/targets/{target}/pause",
        summary="Pause its law; changed options stay as they are",
        responses=errors(404, 422),
    )
    async def pause_one(target: TargetId, body: PauseBody, who: Caller) -> PausedView:
        return await pause(find(target), body.reason, who)

    @app.post("/v1/pause", summary="Pause all laws, also of targets that open later", responses=errors(422))
    async def pause_all(body: PauseBody, who: Caller) -> PausedView:
        return await pause(None, body.reason, who)

    @app.post("/v1/targets/{target}/resume", summary="Resume its law", responses=errors(404))
    async def resume_one(target: TargetId, who: Caller) -> PausedView:
        loop = find(target)
        was_paused = operators.resume(loop, who)
        return PausedView(paused=loop.status.paused, was_paused=was_paused, warning=await operators.not_durable())

    @app.post("/v1/resume", summary="Resume all laws", responses=errors())
    async def resume_all(who: Caller) -> PausedView:
        was_paused = operators.resume(None, who)
        return PausedView(paused=None, was_paused=was_paused, warning=await operators.not_durable())


def _restore(app: FastAPI, find: Find, operators: Operators) -> None:
    @app.post(
        "/v1/targets/{target}/restore",
        summary="Restore its original options; pause its law",
        responses=errors(404, 409),
    )
    async def restore(target: TargetId, who: Caller) -> RestoredView:
        restored, failed = await operators.restore(find(target), who)
        return RestoredView.of(restored, failed, await operators.not_durable())

    @app.post(
        "/v1/restore",
        summary="Restore the original options of all targets; pause all laws, also of targets that open later",
        responses=errors(),
    )
    async def restore_all(who: Caller) -> RestoredView:
        restored, failed = await operators.restore(None, who)
        return RestoredView.of(restored, failed, await operators.not_durable())

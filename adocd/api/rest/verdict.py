"""The route of the verdict: whether a target's policy helps or hurts, by the history that the daemon keeps."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from fastapi import FastAPI
from pydantic import BaseModel, Field

from adocd.api.rest.document import TargetId, errors
from adocd.daemon.book.began import began_unix_s
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.operators import Operators, PinState
from adocd.daemon.watch.history import Packed, measured_of
from adocd.diagnosis.held import HeldWriters
from adocd.diagnosis.verdict import SPAN_S, PinnedOption, Verdict, joined, verdict
from adocd.model.policy import Policy


class VerdictView(BaseModel):
    """Whether a target's policy, or the newest pin that is in force there, helps or hurts."""

    target: str
    path: str
    verdict: Verdict | None = Field(description="null: nothing was measured yet")


class _Remembered(NamedTuple):
    """The input of a verdict, copied so that another thread can read it."""

    policy: Policy
    paused: str | None
    began_unix_s: float | None
    pin: PinnedOption | None
    minutes: Sequence[Packed]
    seconds: Sequence[Packed]


def install(app: FastAPI, find: Callable[[str], TargetLoop], operators: Operators) -> None:
    """Add the route."""

    @app.get(
        "/v1/targets/{target}/verdict",
        summary="Whether the tuner helps or hurts",
        responses=errors(404),
    )
    async def target_verdict(target: TargetId) -> VerdictView:
        """Compare how long writers were held in the last 15 minutes without control and in the last 15 minutes.

        Dry runs are without control. Where nothing was measured before the policy began, the LOG of the current open
        stands for it, up to the first change of an option. If a pin is in force that is newer than the policy, the pin
        is judged, by the 15 minutes before it.
        """
        loop = find(target)
        # Outside the event loop: 15 minutes of seconds take some ms, and the control loop must not wait for them.
        judged = await asyncio.to_thread(_judged, _remembered(loop, operators), loop.logged_before)
        return VerdictView(target=loop.id, path=loop.path, verdict=judged)


def _remembered(loop: TargetLoop, operators: Operators) -> _Remembered:
    return _Remembered(
        loop.status.policy,
        loop.status.paused,
        began_unix_s(reversed(operators.book.operations), loop.id),
        _newest(operators.overrides_of(loop)),
        loop.remembered.history.read("1m"),
        loop.remembered.history.read("1s"),
    )


def _newest(pins: Iterable[PinState]) -> PinnedOption | None:
    """Return the newest pin that is in force."""
    newest = max((pin.override for pin in pins if pin.ineffective is None), key=lambda each: each.unix_s, default=None)
    if newest is None:
        return None
    return PinnedOption(
        newest.option, newest.column_family, newest.value, newest.target is None, newest.who, newest.unix_s
    )


def _judged(known: _Remembered, logged_before: Callable[[float, float], HeldWriters | None]) -> Verdict | None:
    seconds = list(measured_of(known.seconds))
    if not seconds:
        return None
    points = joined(list(measured_of(known.minutes)), seconds)
    first = points[0].unix_s - points[0].interval_s
    logged = logged_before(first if known.began_unix_s is None else known.began_unix_s, SPAN_S)
    return verdict(known.policy, known.paused, known.began_unix_s, points, seconds[-1].unix_s, logged, known.pin)

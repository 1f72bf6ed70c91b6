"""Turning a session's steering by hand, without a loop."""

from __future__ import annotations

from adocd.daemon.change.guards.guard import ALONE, Beside
from adocd.daemon.control.steering import Guarded, Scope, Steering, SteeringStep, TakenWishes
from adocd.model.sample import Sample
from adocd.model.values import Values


def next_step(
    steering: Steering,
    pins: Values,
    sample: Sample,
    now_s: float,
    beside: Beside = ALONE,
    scope: Scope = "all",
) -> SteeringStep:
    """Say what is sent next where the law decides nothing, as a cycle does."""
    guarded = steering.guard((), pins, sample, now_s, beside, scope)
    steering.take(guarded, sample.values)
    return steering.plan(guarded, sample)


def want(steering: Steering, options: Values) -> TakenWishes:
    """Let the law want something, past the guards."""
    return steering.take(Guarded((), options, (), {}, frozenset(), (), {}), {})

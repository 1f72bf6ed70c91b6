"""Simulated databases with a few words, and the daemon on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from adocd.model.policy import Policy
from adocd.simulator import clock as virtual
from adocd.simulator.clock import Clock
from adocd.simulator.database import Setup, SimulatedDatabase
from adocd.simulator.opening import SimulationRequest, opened
from adocd.simulator.run import Scene

MIB = 1 << 20
GIB = 1 << 30


def setup(
    profile: str = "cap-210",
    workload: str = "closed-loop",
    *,
    rate: float | None = None,
    limiter: int | None = None,
    **options: object,
) -> Setup:
    """Open as `adocd simulate` does; options are RocksDB's, `True` is written `true`."""
    written = {name: str(value).lower() for name, value in options.items()}
    return opened(
        SimulationRequest(
            profile=profile,
            workload=workload,
            options=written,
            rate_bytes_per_s=rate,
            rate_limiter_bytes_per_s=limiter,
        )
    )


def database(profile: str = "cap-210", workload: str = "closed-loop", **rest: object) -> SimulatedDatabase:
    return SimulatedDatabase(setup(profile, workload, **rest))  # type: ignore[arg-type]


def until(found: SimulatedDatabase, condition: Callable[[], bool], within_s: float = 600.0) -> None:
    """Let time pass until a condition holds, a hundredth of a second at a time."""
    begin_s = found.now_s
    while not condition():
        found.advance(found.now_s + 0.01)
        assert found.now_s - begin_s < within_s, f"it did not happen within {within_s} simulated s"


def with_scene(opened_as: Setup, policy: Policy, body: Callable[[Scene, Clock], Awaitable[None]]) -> None:
    """Run the body in virtual time, with a daemon's loop that the body ticks."""

    async def run(clock: Clock) -> None:
        scene = Scene(clock, opened_as, policy)
        await body(scene, clock)
        scene.target.close_database()

    virtual.run(run)

"""The toggle under a load that never fills the device: agents count a job's bytes when it ends, in lumps."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace

import pytest

from adocd.model.policy import Policy
from adocd.simulator.clock import Clock
from adocd.simulator.device import MB
from adocd.simulator.run import Scene

from .scenes import setup, with_scene

CAP = 40 * MB
#: The toggle's window.
WINDOW_S = 10.0
#: Until the levels are what the load makes of them.
SETTLED_S, SECONDS = 120.0, 600.0


@dataclass(frozen=True, slots=True)
class Window:
    """Shares of the cap, in percent: what went to the device, and what an agent counted in that time."""

    true: float
    counted_flush: float
    counted: float


def lived(keys: int, compaction: float, *, statistics: bool) -> tuple[list[Window], list[str]]:
    """Live through ten minutes of flushes at half of the cap and compactions at a quarter; the rules that were used."""
    opened = setup("cap-160", "constant", rate=26 * MB, limiter=31 * MB)
    device = replace(opened.device, compaction_thread_bytes_per_s=compaction, wal_share=0.0)
    # With few keys most of what is merged is dropped, so that compactions write less than flushes.
    opened = replace(opened, device=device, distinct_keys=keys, statistics=statistics)
    windows: list[Window] = []
    rules: list[str] = []

    async def body(scene: Scene, clock: Clock) -> None:
        ticking = asyncio.create_task(scene.loop.run())
        before = (0.0, 0.0, 0.0)
        while clock() < SECONDS:
            await asyncio.sleep(WINDOW_S)
            scene.database.advance(clock())
            account = scene.database.account
            flushed, compacted = account.flush_written_bytes, account.compaction_written_bytes
            now = (account.device_bytes, float(flushed), float(flushed + compacted))
            if clock() > SETTLED_S:
                windows.append(
                    Window(*(100 * (b - a) / (CAP * WINDOW_S) for a, b in zip(before, now, strict=True))),
                )
            before = now
        rules.extend(record.rule for record in scene.loop.remembered.decisions)
        ticking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticking
        await scene.loop.stop()

    with_scene(opened, Policy("toggle", {"cap_bytes_per_s": CAP, "dwell_s": 0.0}), body)
    return windows, rules


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize(
    ("keys", "compaction", "least_pct"),
    [(200_000, 140 * MB, 75), (400_000, 10 * MB, 60)],
    ids=["one flush at a time", "stalls, and several at once"],
)
def test_it_does_not_switch_off_at_three_quarters_of_the_cap(
    keys: int, compaction: float, least_pct: int, *, statistics: bool
) -> None:
    windows, rules = lived(keys, compaction, statistics=statistics)
    assert least_pct < sum(window.true for window in windows) / len(windows) < 78
    assert max(window.true for window in windows) < 78, "the limiter sees to that"
    lumps = [window for window in windows if window.counted >= 90 and window.counted_flush >= 50]
    assert len(lumps) > 5, "by what an agent counts it would seem so"
    assert max(window.counted for window in lumps) > 120
    assert "toggle.prepared" in rules, "it acts"
    assert "toggle.off" not in rules

"""A lease is renewed as often as need be: seldom of an agent that always answers, each time of one that may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.daemon.control.target_loop import TargetLoop
from tests.daemon.harness import ADOC, Scene, loop_settings, overflowing, session_of, ticks, with_agent
from tests.support.fake_changes import FakeCapabilities


def renewals(scene: Scene) -> int:
    return sum(method == "PUT" and "epoch" in body for method, _, body in scene.agent.requests)


@pytest.mark.parametrize("responds", [True, False])
def test_a_lease_is_renewed_when_a_quarter_of_it_has_gone(tmp_path: Path, responds: bool) -> None:
    async def body(scene: Scene) -> None:
        scene.agent.capabilities = FakeCapabilities(responds_during_stall=responds)
        now_s = [0.0]
        loop: TargetLoop = await scene.attach(ADOC, loop_settings(lease_ttl_s=10.0, clock=lambda: now_s[0]))
        await ticks(loop, 3)
        assert session_of(loop).held.current is not None
        before, looks = renewals(scene), loop.status.looks
        for _ in range(10):
            now_s[0] += 0.9
            await ticks(loop, 1)
        if responds:
            assert 2 <= renewals(scene) - before <= 4
        else:
            assert renewals(scene) - before == loop.status.looks - looks >= 10
        assert session_of(loop).held.current is not None

    with_agent(overflowing(tmp_path / "db"), tmp_path, body)

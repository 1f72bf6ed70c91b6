"""`GET /v1/targets/{target}/samples`: no number of readers holds up the control loop, and no answer is endless."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adocd.api.rest import samples
from adocd.model.sample import Sample
from tests.api.harness import Service, with_service
from tests.daemon.harness import overflowing, until


class Watched:
    """Serialises a sample, and notes in which turn of the event loop."""

    def __init__(self) -> None:
        self.turn = 0
        self.turns: list[int] = []
        self._real = samples._SAMPLE

    def dump_json(self, sample: Sample) -> bytes:
        """Do both."""
        self.turns.append(self.turn)
        return self._real.dump_json(sample)

    async def count(self) -> None:
        """Count the turns, as the control loop has them."""
        while True:
            self.turn += 1
            await asyncio.sleep(0)


async def several(service: Service) -> None:
    await until(lambda: len(service.loop.remembered.samples) > 3, "several samples")


def test_the_loop_has_a_turn_between_two_samples_however_many_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched()

    async def body(service: Service) -> None:
        await several(service)
        monkeypatch.setattr(samples, "_SAMPLE", watched)
        counting = asyncio.ensure_future(watched.count())
        answers = await asyncio.gather(*(service.call("GET", f"{service.target}/samples?limit=3") for _ in range(5)))
        counting.cancel()
        assert [len(answer["samples"]) for _, answer in answers] == [3] * 5

    with_service(tmp_path, overflowing(tmp_path / "db"), body)
    assert len(set(watched.turns)) == len(watched.turns) == 15


def test_a_large_answer_ends_early_and_goes_on_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_ANSWER_BYTES", 1)

    async def body(service: Service) -> None:
        await several(service)
        seen = [0]
        for _ in range(3):
            _, answer = await service.call("GET", f"{service.target}/samples?after={seen[-1]}")
            (one,) = answer["samples"]
            seen.append(one["sequence"])
        assert seen == sorted(set(seen))

    with_service(tmp_path, overflowing(tmp_path / "db"), body)

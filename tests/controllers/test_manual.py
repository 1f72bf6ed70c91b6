"""Manual: what is given is held, and nothing else."""

from __future__ import annotations

import pytest

from adocd.controllers import registry
from adocd.controllers.base import Controller
from adocd.model.knob import MIB, Knob
from adocd.model.policy import Policy
from tests.controllers.laws import Plant, settings


def manual(**parameters: int | bool) -> Controller:
    return registry.create(Policy("manual", parameters))


def test_it_holds_what_is_given_until_it_is_there() -> None:
    law, plant = manual(batch_size=128 * MIB, auto_compaction=False, rate_limit=20 * MIB), Plant()
    assert law.knobs == {Knob.BATCH_SIZE, Knob.AUTO_COMPACTION, Knob.RATE_LIMIT}
    assert settings(plant.step(law)) == {
        Knob.BATCH_SIZE: 128 * MIB,
        Knob.AUTO_COMPACTION: 0,
        Knob.RATE_LIMIT: 20 * MIB,
    }
    assert plant.now("disable_auto_compactions") == "true"
    assert plant.step(law) is None


def test_without_parameters_it_holds_nothing() -> None:
    assert not manual().knobs
    assert Plant().step(manual()) is None


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"batch_size": 64 * MIB, "file_size": 8 * MIB}, "batch_size and file_size turn the same options: give one"),
        ({"background_jobs": 4, "flush_threads": 2}, "background_jobs and flush_threads turn the same options"),
        ({"level0_stop_trigger": 0}, "level0_stop_trigger must be at least 1, not 0"),
        ({"delayed_write_rate": 1}, "delayed_write_rate must be at least 1 MiB/s, not 1"),
        ({"auto_compaction": 1}, "auto_compaction must be true or false, not 1"),
    ],
)
def test_what_makes_no_sense_is_named(parameters: dict[str, int], sentence: str) -> None:
    with pytest.raises(registry.PolicyError, match=sentence):
        registry.create(Policy("manual", parameters))

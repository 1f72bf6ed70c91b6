"""Laws as somebody else might write them, good and bad, for the tests to put in the registry."""

from __future__ import annotations

import time
from typing import Any

from adocd.controllers.base import Controller, Parameters
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.sample import Sample


def decision(*settings: object) -> Decision:
    return Decision(settings, "a test", "theirs.rule", "a test")  # type: ignore[arg-type]


class Theirs(Controller):
    """Decides what a test says, once its window is over."""

    name = "theirs"
    summary = "for tests"
    source = "none"
    period_s = 0.05
    knobs = frozenset({Knob.MEMTABLE_SIZE})

    def __init__(self, parameters: Parameters) -> None:
        del parameters

    def step(self, sample: Sample) -> Decision | None:
        """Decide what the test says, which need not be a decision."""
        del sample
        decided: Decision | None = self.decide()
        return decided

    @staticmethod
    def decide() -> Any:
        """For the test to replace."""
        return decision(Setting(Knob.MEMTABLE_SIZE, 32 * MIB, "default"))


def spin(seconds: float) -> None:
    """Keep the interpreter busy with pure Python."""
    ends_s = time.monotonic() + seconds
    while time.monotonic() < ends_s:
        pass

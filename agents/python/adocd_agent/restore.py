"""The restore plan: what is undone, step by step, when its holder falls silent."""

from __future__ import annotations

from typing import Any

Json = Any


class RestorePlan:
    """The plan of one session and how far its execution is. Knows no database: its keeper executes."""

    def __init__(self) -> None:
        self._steps: list[Json] = []
        self._state = "none"
        self._waiting_for: str | None = None
        self._errors: list[str] = []

    def arm(self, steps: list[Json]) -> None:
        """Replace the plan."""
        self._steps = list(steps)
        self._state = "armed" if steps else "none"
        self._waiting_for, self._errors = None, []

    def drop(self) -> None:
        """Forget the plan: what was changed stays."""
        self._steps, self._state, self._waiting_for = [], "none", None

    def begin(self) -> int:
        """Begin to execute what is left; return how many steps that is, 0 when there is nothing to begin."""
        if not self._steps or self.executing:
            return 0
        self._state, self._errors = "running", []
        return len(self._steps)

    def interrupt(self) -> None:
        """Stop after the step in progress: what is left belongs to a new lease."""
        if self._steps:
            self._state, self._waiting_for = "armed", None

    @property
    def executing(self) -> bool:
        """Whether an execution is under way, waiting or not."""
        return self._state in ("running", "waiting")

    def next(self) -> Json | None:
        """Return the step that is due, None when nothing is being executed."""
        return self._steps[0] if self.executing else None

    def wait_for(self, condition: str) -> None:
        """Wait: the next step's condition does not hold yet."""
        self._state, self._waiting_for = "waiting", condition

    def run(self) -> None:
        """Go on: the next step's condition holds."""
        self._state, self._waiting_for = "running", None

    def is_next(self, step: Json) -> bool:
        """Tell whether this step is still the one to execute."""
        return self._state == "running" and bool(self._steps) and self._steps[0] is step

    def done(self, step: Json, error: str | None) -> int | None:
        """Book an executed step; return the number of errors when it was the last of an execution."""
        if not self._steps or self._steps[0] is not step:  # the plan was dropped or replaced meanwhile
            return None
        del self._steps[0]
        if error is not None:
            self._errors.append(error)
        if self._steps:
            return None
        if self._state == "armed":  # a new lease came during the last step: nothing is left for it
            self._state = "none"
            return None
        self._state = "done"
        return len(self._errors)

    def as_json(self) -> dict[str, Json]:
        """Write it as the contract's Restore."""
        return {
            "state": self._state,
            "steps_left": len(self._steps),
            "waiting_for": self._waiting_for,
            "errors": list(self._errors),
        }

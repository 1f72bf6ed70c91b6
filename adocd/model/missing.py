"""What could not be measured, and why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    """Takes the place of a measurement; `why` is one sentence for the operator, without a full stop."""

    why: str

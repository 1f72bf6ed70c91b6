"""The baseline: change nothing."""

from adocd.controllers.base import Controller, Parameters
from adocd.model.decision import Decision
from adocd.model.sample import Sample


class Fixed(Controller):
    """Leave every option as the database's owner set it: the baseline for every other law."""

    name = "fixed"
    summary = "changes nothing: the baseline"
    source = "none"
    period_s = 1.0
    knobs = frozenset()

    def __init__(self, parameters: Parameters) -> None:
        del parameters

    def step(self, sample: Sample) -> Decision | None:  # noqa: ARG002
        """Change nothing, whatever the sample."""
        return None

"""What is left of a law's decision: its shaping, then pins and safety guards. The same where the law may act or not."""

from dataclasses import dataclass, replace

from adocd.daemon.law import Law
from adocd.daemon.steering import Steering, Wishes
from adocd.model.decision import Decision
from adocd.model.sample import Sample
from adocd.model.values import Values


@dataclass(frozen=True, slots=True)
class Weighed:
    """A decision as the law's shaping leaves it, what guards and pins leave of that, and what they all said."""

    shaped: Decision
    wishes: Wishes
    notes: tuple[str, ...]

    @property
    def decision(self) -> Decision:
        """What is left of it."""
        return replace(self.shaped, settings=self.wishes.settings)


def weigh(law: Law, steering: Steering, asked: tuple[Decision, Sample], pins: Values, sample: Sample) -> Weighed:
    """Weigh what a law has decided, and the window that it decided on, against what is there now.

    The law's shaping goes on from what is left, as from something done.
    """
    decision, window = asked
    settings, notes = law.shaper.shape(decision.settings, window)
    shaped = replace(decision, settings=settings)
    wishes = steering.weigh(shaped, pins, sample)
    law.shaper.carried_out(wishes.settings, window)
    return Weighed(shaped, wishes, notes + wishes.notes)

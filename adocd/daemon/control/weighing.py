"""What remains of a law's decision after shaping, pins and safety guards; the same in a dry run."""

from dataclasses import dataclass, replace

from adocd.daemon.change.guards.guard import ALONE, Beside, Note
from adocd.daemon.change.judge import TAKE_BACK
from adocd.daemon.control.law import Law
from adocd.daemon.control.steering import Guarded, Steering
from adocd.model.decision import Decision
from adocd.model.in_words import exact_size
from adocd.model.knob import KNOBS
from adocd.model.sample import Sample
from adocd.model.values import Values

#: Most column families named in a reason: there may be hundreds, and the reason must stay readable.
_FAMILIES_NAMED = 3


@dataclass(frozen=True, slots=True)
class Weighed:
    """A decision after shaping, what guards and pins leave of it, and what all of them said."""

    shaped: Decision
    guarded: Guarded
    notes: tuple[Note, ...]
    #: Options that a knob makes smaller as a side effect; None if there are none.
    shrinks: str | None = None

    @property
    def decision(self) -> Decision:
        """What remains of it, with a reason that also names the side effects."""
        reason = self.shaped.reason if self.shrinks is None else f"{self.shaped.reason}; {self.shrinks}"
        return replace(self.shaped, settings=self.guarded.settings, reason=reason)


def weigh(
    law: Law,
    steering: Steering,
    asked: tuple[Decision, Sample],
    pins: Values,
    sample: Sample,
    now_s: float,
    beside: Beside = ALONE,
) -> Weighed:
    """Weigh a law's decision, and the window it is based on, against the database's present state.

    Shaping counts what remains as carried out; the judge does not in a dry run, which makes nothing better or worse.
    Shaping does not limit what the judge takes back.
    """
    decision, window = asked
    takes_back = decision.rule == TAKE_BACK
    settings, notes = (decision.settings, ()) if takes_back else law.shape(decision.settings, window)
    guarded = steering.guard(settings, pins, sample, now_s, beside)
    law.shaper.carried_out(guarded.settings, window)
    if not takes_back and not law.policy.dry_run:
        law.judge.carried_out(guarded.settings, window)
    return Weighed(replace(decision, settings=settings), guarded, notes + guarded.notes, _shrinks(guarded, sample))


def _shrinks(guarded: Guarded, sample: Sample) -> str | None:
    """Return which options that a knob sets along with others become smaller than they are.

    A larger batch can make the base level smaller (adocd.controllers.adoc), and then everything that level 1 holds
    beyond it is due for compaction at once.
    """
    derived = {option for setting in guarded.settings for option in KNOBS[setting.knob].options[1:]}
    found: dict[str, list[str]] = {}
    for option, value in guarded.options.items():
        now = sample.values.get(option)
        if option.option in derived and now is not None and int(value) < int(now):
            words = f"{option.option} shrinks with it from {exact_size(int(now))} to {exact_size(int(value))}"
            found.setdefault(words, []).append(option.name or "")
    return "; ".join(f"{words} in {_listed(families)}" for words, families in found.items()) or None


def _listed(families: list[str]) -> str:
    first = ", ".join(families[:_FAMILIES_NAMED])
    return first if len(families) <= _FAMILIES_NAMED else f"{first} and {len(families) - _FAMILIES_NAMED} more"

"""Whether tide's floods pay: whole floods under the law against whole floods under the owner's options. Pure.

A flood's cost is how long writers waited for each GiB that they wrote, from the first pressure until 5 s after the
last; so floods of different lengths compare, also those that clients end. What they write between two moments of
pressure counts for the owner's options as it does for the law, which goes on with its flood meanwhile. A flood in which
writers waited for less than 5 % of the time in which it pressed is fine, whatever the owner's options would have done:
the ebb, in which nobody writes much, does not count. After two in a row that were not, the next flood is left to the
owner's options, as a trial. If it cost less, by a fifth, the law rests for two more floods and tries again; each time
it fails the rest doubles, up to 32 floods. If the trial cost as much or more, the law goes on, and there is no other
trial for four floods, then eight, up to 32.

A flood of the law's that does not end is not judged before it does: to take back a bound of level 0 while it is full
would stop writes (HAZARDS, level0_stop_writes_trigger). One that is left to the owner's options has no such bound, so
it is left no longer than until it has cost as much as the law's: an outage may last for hours. Source: ours.
"""

from dataclasses import dataclass

from adocd.model import in_words
from adocd.model.sample import Sample

#: Share of a flood's time in which writers may wait, floods in a row in which they waited longer, and how much less the
#: owner's options must cost.
_FINE, _BAD_FLOODS, _CHEAPER = 0.05, 2, 0.8
_REST_FIRST, _GO_ON_FIRST, _MOST = 2, 4, 32
#: A flood has ended when nothing has pressed for so long, in s.
_OVER_S = 5.0
#: Smaller floods say nothing, in bytes.
_LEAST_BYTES = 256 << 20
_GIB = 1 << 30


@dataclass(slots=True)
class _Flood:
    #: In which it pressed, without its ebb.
    seconds: float = 0.0
    waited_s: float = 0.0
    written_bytes: float = 0.0

    def add(self, sample: Sample, pressed_s: float) -> None:
        """Take in a window, and for how long it pressed."""
        waited = sample.stalled_fraction if sample.waited_fraction is None else sample.waited_fraction
        self.seconds += pressed_s
        self.waited_s += (waited or 0.0) * sample.interval_s
        self.written_bytes += (sample.written_bytes_per_s or 0.0) * sample.interval_s

    @property
    def is_fine(self) -> bool:
        """Whether writers hardly waited."""
        return self.waited_s <= _FINE * self.seconds

    @property
    def cost(self) -> float:
        """How long writers waited, in s for each GiB written; of small floods, for the least that says something."""
        return self.waited_s / max(self.written_bytes, _LEAST_BYTES) * _GIB


class JudgedFloods:
    """Counts floods, and says which are left to the owner's options."""

    def __init__(self) -> None:
        self._flood = _Flood()
        #: Since the flood was paid back, and since it pressed, in s.
        self._over_s = self._unpressed_s = 0.0
        #: The last floods of the law in which writers waited, in a row.
        self._bad: list[_Flood] = []
        #: What those of the last trial cost, and how long one of them pressed at the mean, in s.
        self._cost = self._cost_s = 0.0
        #: Floods that are still left to the owner's options, and those that still go without a trial.
        self._rests, self._goes_on = 0, 0
        self._rest_next, self._go_on_next = _REST_FIRST, _GO_ON_FIRST
        self._words = ""

    @property
    def rests(self) -> str | None:
        """Why this flood, or the next one, is left to the owner's options; None if it is the law's."""
        return self._words if self._rests else None

    def interrupted(self) -> None:
        """Forget the flood of which nobody saw the rest."""
        self._flood, self._over_s, self._unpressed_s = _Flood(), 0.0, 0.0

    def observe(self, sample: Sample, *, is_flood: bool, presses: bool) -> None:
        """Take in a window: in a flood until it is paid back, or not; and whether the flood pressed, or ebbed.

        A flood of the owner's is seen only while it presses: a pause from which it comes back is part of it.
        """
        pause_s, has_begun = self._unpressed_s, self._flood.seconds > 0
        self._unpressed_s = 0.0 if presses else pause_s + sample.interval_s
        if (presses or has_begun) and self._unpressed_s <= _OVER_S:
            came_back = presses and has_begun and self._rests
            pressed_s = sample.interval_s if presses else 0.0
            self._flood.add(sample, pressed_s + pause_s if came_back else pressed_s)
        if self._rests and self._costs_as_much():
            self._judge_owners(self._flood)
            self._flood, self._rests, self._bad = _Flood(), 0, []
        if is_flood:
            self._over_s = 0.0
            return
        self._over_s += sample.interval_s
        if self._over_s >= _OVER_S:
            flood, self._flood = self._flood, _Flood()
            if flood.seconds and flood.written_bytes >= _LEAST_BYTES:
                self._judge_owners(flood) if self._rests else self._judge_ours(flood)

    def _costs_as_much(self) -> bool:
        """Whether the flood that is left to the owner's options has cost what the law's did, though it goes on."""
        return self._flood.seconds >= self._cost_s and self._flood.cost >= _CHEAPER * self._cost

    def _judge_ours(self, flood: _Flood) -> None:
        self._goes_on = max(0, self._goes_on - 1)
        self._bad = [] if flood.is_fine else [*self._bad, flood][-_BAD_FLOODS:]
        if len(self._bad) < _BAD_FLOODS or self._goes_on:
            return
        self._rests = 1
        self._cost = sum(each.cost for each in self._bad) / len(self._bad)
        self._cost_s = sum(each.seconds for each in self._bad) / len(self._bad)
        self._words = (
            f"in its last {_BAD_FLOODS} floods writers waited {_waited(self._bad)}, so the next one is "
            "left to the owner's options, to compare"
        )

    def _judge_owners(self, flood: _Flood) -> None:
        self._rests -= 1
        if self._rests or not self._bad:
            return  # Without bad floods to compare with it was no trial but a rest: then the law tries again.
        ours, self._bad = self._bad, []
        if flood.cost >= _CHEAPER * self._cost:
            self._goes_on, self._go_on_next = self._go_on_next, min(_MOST, 2 * self._go_on_next)
            self._rest_next = _REST_FIRST
            return
        self._rests, self._rest_next = self._rest_next, min(_MOST, 2 * self._rest_next)
        self._words = (
            f"writers waited {_waited(ours)} in its last floods and {_waited([flood])} under the owner's options, so "
            f"{self._rests} more floods are left to those"
        )


def _waited(floods: list[_Flood]) -> str:
    seconds, waited = (sum(each.seconds for each in floods), sum(each.waited_s for each in floods))
    per_gib = sum(each.cost for each in floods) / len(floods)
    return f"{in_words.share(min(1.0, waited / seconds))} of the time ({per_gib:.1f} s for each GiB written)"

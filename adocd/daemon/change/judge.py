"""Takes back changes that made things worse. Off unless the policy asks for it; pure.

A trial begins with a change and takes `judge_s`; further changes join it, and those of its second half are judged again
in a trial of their own. At its end the seconds after it began are compared with as many before. Worse means that
writers waited for a larger share of the time, or that they wrote fewer bytes while they had to wait; by more than a
margin, and by more than twice the standard error of the difference. Single seconds depend on their neighbours (a flush
or a compaction takes several), so the error is that of means over 5 s.

What made things worse is taken back to the values before the trial, and its knobs rest for ten trials. A value that is
not back, because sending failed or a guard refused it, is taken back again every few seconds while its knob rests. What
goes back to the owner's value is neither judged nor held back, and nothing is taken back away from it: giving back is
always allowed. What is compared with the next trial then is the time before the one that made things worse. The judge
cannot know whether the load turned in the same moment: writers who waited longer and wrote more are no reason, and a
knob that rests may be tried again later. Source: ours.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, variance

from adocd.daemon.change.guards.guard import Note
from adocd.daemon.change.shaping import SAID_ANEW
from adocd.model import in_words
from adocd.model.decision import Decision, Setting
from adocd.model.knob import KNOBS, Knob
from adocd.model.reading import owners_value, value_now
from adocd.model.sample import Sample

TAKE_BACK = "judge.take_back"
#: Seconds of one mean, and the fewest means that say something.
_BLOCK_S, _BLOCKS_MIN = 5.0, 3
#: The shortest time over which changes can be judged.
JUDGED_S_MIN = _BLOCK_S * _BLOCKS_MIN
#: Less of a difference counts for nothing: a share of the time, and a share of the bytes.
_WAITED_MARGIN, _WRITTEN_MARGIN = 0.05, 0.10
_ERRORS = 2.0
_REST_TRIALS = 10
#: How often what is not back is taken back again, in seconds: the law is asked in between, for its other knobs.
_AGAIN_S = 5.0

_Key = tuple[Knob, str | None]


@dataclass(frozen=True, slots=True)
class _Second:
    """What one sample says of writers: the share of the time that they waited, 0 to 1, and the bytes/s they wrote.

    It is about `seconds` seconds: fewer than one if an event woke the law, many if the agent did not answer.
    """

    ended_s: float
    seconds: float
    waited: float
    written: float


@dataclass(frozen=True, slots=True)
class _Move:
    """A knob that was turned, and its value before that."""

    at_s: float
    key: _Key
    before: int


@dataclass(slots=True)
class _Trial:
    began_s: float
    moves: list[_Move] = field(default_factory=list)
    #: What was seen before it, once it has ended.
    seen_before: Sequence[_Second] = ()

    def before(self) -> dict[_Key, int]:
        """Return the value that each of its knobs had before it."""
        found: dict[_Key, int] = {}
        for move in self.moves:
            found.setdefault(move.key, move.before)
        return found


class Judge:
    """Judges one law's changes, in the samples' own time; `judge_s` of 0 judges nothing."""

    def __init__(self, judge_s: float) -> None:
        self._judge_s = judge_s
        self._seconds: deque[_Second] = deque()
        self._trial: _Trial | None = None
        #: A trial that made things worse, and how, until a verdict is asked for: nobody does so in a pause.
        self._harm: tuple[_Trial, str] | None = None
        self._rests: dict[_Key, float] = {}
        #: What is to be taken back to which value, why, and when that is decided next.
        self._back: dict[_Key, int] = {}
        self._worse = ""
        self._next_s = 0.0
        #: What was seen before the trial that is being taken back.
        self._unharmed: Sequence[_Second] = ()

    def remember(self, samples: Iterable[Sample]) -> None:
        """Take in samples from before the law, so that its first change can be judged, too."""
        for sample in samples if self._judge_s else ():
            self.observe(sample)

    def begin_anew(self) -> None:
        """Forget the trial and what was seen: the daemon knows of another reason why things changed.

        So after a restore, after a pin, and when the law begins anew. What was condemned still rests.
        """
        self._trial = self._harm = None
        self._seconds.clear()
        self._unharmed = ()

    def verdict(self, sample: Sample, decided: Decision | None = None) -> Decision | None:
        """Return the decision that takes back what made things worse, until it is back; None without one.

        It takes the place of what the law has `decided`, but for what gives other knobs back to the owner. Where the
        law decides, a repetition leaves it that for the length of a trial.
        """
        if self._harm is not None:
            self._condemn(*self._harm, sample)
            self._harm = None
        still = _still(self._back, sample)
        if self._back and not still:
            self._is_back(sample.monotonic_s)
        self._back = {key: value for key, value in still.items() if self._does_rest(key, sample)}
        due_s = self._next_s + (0.0 if decided is None else self._judge_s)
        if not self._back or sample.monotonic_s < due_s:
            return None
        self._next_s = sample.monotonic_s + _AGAIN_S
        back = [Setting(knob, value, family) for (knob, family), value in self._back.items()]
        others = () if decided is None else decided.settings
        back += [each for each in others if _key(each) not in self._back and _gives_back(each, sample)]
        reason = f"what made things worse is taken back, and rests for {self._rest_s:.0f} s"
        return Decision(tuple(back), self._worse, TAKE_BACK, reason)

    def observe(self, sample: Sample) -> None:
        """Take in a sample: every one, also while a change is on its way, because that is when it holds writers."""
        if not self._judge_s:
            return
        waited = sample.stalled_fraction if sample.waited_fraction is None else sample.waited_fraction
        if waited is not None and sample.written_bytes_per_s is not None:
            seconds = sample.interval_s
            self._seconds.append(_Second(sample.monotonic_s, seconds, min(1.0, waited), sample.written_bytes_per_s))
        now_s = sample.monotonic_s
        if self._trial is not None and now_s - self._trial.began_s >= self._judge_s:
            self._end(self._trial)
        compared_s = now_s - self._judge_s if self._trial is None else min(now_s - self._judge_s, self._trial.began_s)
        while self._seconds and self._seconds[0].ended_s < compared_s - self._judge_s:
            self._seconds.popleft()

    def rest(self, settings: Iterable[Setting], sample: Sample) -> tuple[tuple[Setting, ...], tuple[Note, ...]]:
        """Leave out the settings of knobs that rest; a note says why."""
        kept, notes = [], []
        for setting in settings:
            if _is_judged(setting, sample) and self._does_rest(_key(setting), sample):
                # The same words each time, so that repeated decisions are one record.
                words = f"{setting.knob} has made things worse, so it rests for {self._rest_s:.0f} s"
                notes.append(Note("judge", words))
            else:
                kept.append(setting)
        return tuple(kept), tuple(notes)

    def carried_out(self, settings: Iterable[Setting], sample: Sample) -> None:
        """Remember what was decided: it begins a trial, or joins the one that runs."""
        if not self._judge_s:
            return
        for setting in settings:
            now = value_now(setting.knob, sample, setting.column_family)
            if now is None or now == setting.value or not _is_judged(setting, sample):
                continue
            if self._trial is None:
                self._trial = _Trial(sample.monotonic_s)
            self._trial.moves.append(_Move(sample.monotonic_s, _key(setting), now))

    def _end(self, trial: _Trial) -> None:
        """Judge a trial by the seconds within it, and as many before; later ones say nothing of it.

        If it made nothing worse, its late changes have not been seen for long enough, and get a trial of their own.
        """
        began_s, judge_s = trial.began_s, self._judge_s
        trial.seen_before = _within(self._seconds, began_s - judge_s, began_s)
        worse = _worse(trial.seen_before, _within(self._seconds, began_s, began_s + judge_s))
        self._trial = None
        if worse is not None:
            self._harm = trial, worse
        elif late := [move for move in trial.moves if move.at_s >= began_s + judge_s / 2]:
            self._trial = _Trial(late[0].at_s, late)

    def _condemn(self, trial: _Trial, worse: str, sample: Sample) -> None:
        """Let what can go back do so, and the trial's knobs rest; if nothing can, the law is left alone."""
        before, now_s = trial.before(), sample.monotonic_s
        if back := _still(before, sample):
            rests = {key: until_s for key, until_s in self._rests.items() if now_s < until_s}
            self._rests = rests | dict.fromkeys(before, now_s + self._rest_s)
            self._back |= back
            self._worse, self._next_s, self._unharmed = worse, -math.inf, trial.seen_before

    def _is_back(self, now_s: float) -> None:
        """Compare what comes next with the time before the harm: that within it is no measure for anything.

        So the seconds from before move up to now. A change that was made meanwhile is judged from now on.
        """
        if not self._unharmed:
            return
        later_s = now_s - self._unharmed[-1].ended_s
        self._seconds = deque(replace(each, ended_s=each.ended_s + later_s) for each in self._unharmed)
        self._unharmed = ()
        if self._trial is not None:
            self._trial.began_s = now_s

    @property
    def _rest_s(self) -> float:
        return _REST_TRIALS * self._judge_s

    def _does_rest(self, key: _Key, sample: Sample) -> bool:
        return sample.monotonic_s < self._rests.get(key, 0.0)


def _key(setting: Setting) -> _Key:
    return setting.knob, setting.column_family


def _gives_back(setting: Setting, sample: Sample) -> bool:
    """Whether it is the owner's value."""
    return setting.value == owners_value(setting.knob, sample, setting.column_family)


def _is_judged(setting: Setting, sample: Sample) -> bool:
    """Not what goes back to the owner, nor what laws must set again each second because RocksDB changes it."""
    return setting.knob is not SAID_ANEW and not _gives_back(setting, sample)


def _can_go_back(setting: Setting, sample: Sample) -> bool:
    """Whether this value, from before a trial, is another one than now, and no farther from the owner's.

    Where 0 means "off", it is higher than every other value.
    """
    now, owners = (of(setting.knob, sample, setting.column_family) for of in (value_now, owners_value))
    if now is None or owners is None or now == setting.value:
        return False
    is_off = [value == 0 and KNOBS[setting.knob].zero_is_off for value in (setting.value, now, owners)]
    if is_off[2]:
        return is_off[0] or (not is_off[1] and setting.value > now)
    return not is_off[0] and (is_off[1] or abs(setting.value - owners) <= abs(now - owners))


def _still(values: Mapping[_Key, int], sample: Sample) -> dict[_Key, int]:
    """Return those of these values, from before a trial, that can go back."""
    return {key: value for key, value in values.items() if _can_go_back(Setting(key[0], value, key[1]), sample)}


def _within(seconds: Iterable[_Second], from_s: float, until_s: float) -> list[_Second]:
    """Return what is known of a time; of a sample that reaches beyond it, the part within it."""
    found = []
    for each in seconds:
        began_s, ended_s = max(from_s, each.ended_s - each.seconds), min(until_s, each.ended_s)
        if began_s < ended_s:
            found.append(replace(each, ended_s=ended_s, seconds=ended_s - began_s))
    return found


def _worse(before: Sequence[_Second], after: Sequence[_Second]) -> str | None:
    """Return in what way the time after was worse than before; None if it was not, or too little is known."""
    waited = [_means(part, [each.waited for each in part]) for part in (before, after)]
    written = [_means(part, [each.written for each in part]) for part in (before, after)]
    if min(map(len, waited)) < _BLOCKS_MIN:
        return None
    more = fmean(waited[1]) - fmean(waited[0])
    has_more_to_do = fmean(written[1]) > (1 + _WRITTEN_MARGIN) * fmean(written[0])
    if more > max(_WAITED_MARGIN, _ERRORS * _error(waited)) and not has_more_to_do:
        said = " and ".join(
            f"{in_words.share(fmean(part))} {when}" for part, when in zip(waited, ("before", "after"), strict=True)
        )
        return f"writers waited {said}"
    fewer = fmean(written[0]) - fmean(written[1])
    held = fmean(waited[1]) > _WAITED_MARGIN
    if held and fewer > max(_WRITTEN_MARGIN * fmean(written[0]), _ERRORS * _error(written)):
        said = " and ".join(
            f"{in_words.size(fmean(part))}/s {when}" for part, when in zip(written, ("before", "after"), strict=True)
        )
        return f"held writers wrote {said}"
    return None


def _means(seconds: Sequence[_Second], values: Sequence[float]) -> list[float]:
    """Return the means of successive blocks of time; a sample counts in each block that it spans."""
    blocks: dict[int, list[tuple[float, float]]] = {}
    for second, value in zip(seconds, values, strict=True):
        began_s = second.ended_s - second.seconds
        for block in range(math.floor(began_s / _BLOCK_S), math.ceil(second.ended_s / _BLOCK_S)):
            if (spans_s := min(second.ended_s, (block + 1) * _BLOCK_S) - max(began_s, block * _BLOCK_S)) > 0:
                blocks.setdefault(block, []).append((value, spans_s))
    return [fmean(*zip(*block, strict=True)) for block in blocks.values()]


def _error(parts: Sequence[Sequence[float]]) -> float:
    """Return the standard error of the difference between the means of two parts."""
    return math.sqrt(sum(variance(part) / len(part) for part in parts))

"""Shaping guards: limit how fast a law may move its knobs. Off unless the policy sets them; operators override them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from adocd.daemon.change.guards.guard import Note
from adocd.model.decision import Setting
from adocd.model.knob import KNOBS, Knob
from adocd.model.options import OUT_OF_THE_WAY
from adocd.model.policy import Shaping
from adocd.model.reading import value_now
from adocd.model.sample import Sample

_Key = tuple[Knob, str | None]
#: RocksDB lowers the delayed write rate by itself each time it finds a delay that goes on (HAZARDS 21), so laws say it
#: anew each second. A guard against that would leave writes nearly at a standstill.
SAID_ANEW = Knob.DELAYED_WRITE_RATE


@dataclass(slots=True)
class Shaper:
    """Remembers one law's moves, in the samples' own time.

    The guards: `step` limits the factor by which a knob changes at once; `pacing` sets a minimum time between two
    decisions; `refractory` sets a minimum time before a knob reverses direction. None of them holds the delayed write
    rate, or counts it as a decision.
    """

    shaping: Shaping
    _last_s: float | None = None
    _moved: dict[_Key, tuple[float, bool]] = field(default_factory=dict)

    def shape(self, settings: Iterable[Setting], sample: Sample) -> tuple[tuple[Setting, ...], tuple[Note, ...]]:
        """Return what remains of a decision's settings, and the notes of the guards that limited it."""
        now_s, limits = sample.monotonic_s, self.shaping
        pacing = self._pacing(now_s)
        kept: list[Setting] = []
        notes: list[Note] = []
        for setting in settings:
            if setting.knob is SAID_ANEW:
                kept.append(setting)
                continue
            now = value_now(setting.knob, sample, setting.column_family)
            if now == setting.value:  # no move: the law takes back what it asked for before
                kept.append(setting)
                continue
            if pacing is not None:
                notes = [pacing]
                continue
            if now is None:
                kept.append(setting)
                continue
            if (note := self._turns_round(setting, now, now_s)) is not None:
                notes.append(note)
                continue
            stepped = _stepped(setting, now, limits.step_factor)
            if stepped != setting:
                words = f"{setting.knob} {setting.value} is more than {limits.step_factor:g} times {now}"
                notes.append(Note("step", words))
            kept.append(stepped)
        return tuple(kept), tuple(notes)

    def carried_out(self, settings: Iterable[Setting], sample: Sample) -> None:
        """Remember settings that were decided."""
        for setting in settings:
            now = value_now(setting.knob, sample, setting.column_family)
            if now is not None and now != setting.value and setting.knob is not SAID_ANEW:
                self._last_s = sample.monotonic_s
                self._moved[_key(setting)] = (sample.monotonic_s, _goes_up(setting, now))

    def _pacing(self, now_s: float) -> Note | None:
        since_s = math.inf if self._last_s is None else now_s - self._last_s
        if since_s >= self.shaping.pacing_s:
            return None
        words = f"the last decision was {since_s:.1f} s ago, {self.shaping.pacing_s - since_s:.1f} s to go"
        return Note("pacing", words)

    def _turns_round(self, setting: Setting, now: int, now_s: float) -> Note | None:
        moved = self._moved.get(_key(setting))
        if moved is None or setting.value == now:
            return None
        since_s, up = now_s - moved[0], moved[1]
        if since_s >= self.shaping.refractory_s or _goes_up(setting, now) == up:
            return None
        words = f"{setting.knob} went {'up' if up else 'down'} {since_s:.1f} s ago, and may not turn round yet"
        return Note("refractory", words)


def _key(setting: Setting) -> _Key:
    return setting.knob, setting.column_family


def _goes_up(setting: Setting, now: int) -> bool:
    return _height(setting.knob, setting.value) > _height(setting.knob, now)


def _height(knob: Knob, value: int) -> float:
    return math.inf if value == 0 and KNOBS[knob].zero_is_off else value


def _stepped(setting: Setting, now: int, factor: float) -> Setting:
    # "Off" and "out of the way" are not sizes that can be approached in steps.
    if factor <= 1 or now <= 0 or {now, setting.value} & {0, OUT_OF_THE_WAY}:
        return setting
    most = max(now + 1, int(now * factor))
    least = min(now - 1, -int(-now // factor))
    return replace(setting, value=max(least, min(most, setting.value)))

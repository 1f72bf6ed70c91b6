"""Shaping guards: how fast a law may move, as part of a policy. Off unless the policy says so; operators beat them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from adocd.model.decision import Setting
from adocd.model.knob import Knob
from adocd.model.policy import Shaping
from adocd.model.sample import Sample

_Key = tuple[Knob, str | None]


@dataclass(slots=True)
class Shaper:
    """What one law has moved so far, in the samples' own time.

    The guards: `step` lets a knob become at most so many times as large or small at once; `pacing` waits after every
    decision; `refractory` keeps a knob from turning round for a time.
    """

    shaping: Shaping
    _last_s: float | None = None
    _moved: dict[_Key, tuple[float, bool]] = field(default_factory=dict)

    def shape(self, settings: Iterable[Setting], sample: Sample) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
        """Say what is left of a decision's settings, and which guards spoke."""
        now_s, limits = sample.monotonic_s, self.shaping
        if self._last_s is not None and now_s - self._last_s < limits.pacing_s:
            waits = limits.pacing_s - (now_s - self._last_s)
            return (), (f"pacing: the last decision was {now_s - self._last_s:.1f} s ago, {waits:.1f} s to go",)
        kept: list[Setting] = []
        notes: list[str] = []
        for setting in settings:
            value_now = _value_now(setting, sample)
            if value_now is None:
                kept.append(setting)
                continue
            if (note := self._turns_round(setting, value_now, now_s)) is not None:
                notes.append(note)
                continue
            stepped = _stepped(setting, value_now, limits.step_factor)
            if stepped != setting:
                notes.append(
                    f"step: {setting.knob} {setting.value} is more than {limits.step_factor:g} times {value_now}"
                )
            kept.append(stepped)
        return tuple(kept), tuple(notes)

    def carried_out(self, settings: Iterable[Setting], sample: Sample) -> None:
        """Remember what became a decision."""
        for setting in settings:
            value_now = _value_now(setting, sample)
            if value_now is not None and value_now != setting.value:
                self._last_s = sample.monotonic_s
                self._moved[_key(setting)] = (sample.monotonic_s, setting.value > value_now)

    def _turns_round(self, setting: Setting, value_now: int, now_s: float) -> str | None:
        moved = self._moved.get(_key(setting))
        if moved is None or setting.value == value_now:
            return None
        since_s, up = now_s - moved[0], moved[1]
        if since_s >= self.shaping.refractory_s or (setting.value > value_now) == up:
            return None
        return (
            f"refractory: {setting.knob} went {'up' if up else 'down'} {since_s:.1f} s ago, and may not turn round yet"
        )


def _key(setting: Setting) -> _Key:
    return setting.knob, setting.column_family


def _value_now(setting: Setting, sample: Sample) -> int | None:
    if setting.knob is Knob.BACKGROUND_JOBS:
        return sample.background_jobs
    family = next((cf for cf in sample.column_families if cf.name == setting.column_family), None)
    return None if family is None else family.options.write_buffer_size_bytes


def _stepped(setting: Setting, value_now: int, factor: float) -> Setting:
    if factor <= 1 or value_now <= 0:
        return setting
    most = max(value_now + 1, int(value_now * factor))
    least = min(value_now - 1, -int(-value_now // factor))
    return replace(setting, value=max(least, min(most, setting.value)))

"""Checks that a law returned a valid decision, because a third-party law can return anything. Pure."""

from adocd.controllers.base import Controller
from adocd.model.decision import Decision, Setting
from adocd.model.knob import KNOBS, Knob
from adocd.model.sample import Sample

_MOST = (1 << 63) - 1


def what_is_wrong(decided: object, controller: Controller, sample: Sample) -> str | None:
    """Return, in one sentence, why this is not a valid decision of this law for this sample; None when it is."""
    if decided is None:
        return None
    if not isinstance(decided, Decision):
        return f"it returned {_short(decided)}, which is no Decision"
    if not all(isinstance(text, str) for text in (decided.signal, decided.rule, decided.reason)):
        return "its decision's signal, rule and reason must be text"
    if not isinstance(decided.settings, tuple) or not all(isinstance(s, Setting) for s in decided.settings):
        return "its decision's settings must be a tuple of Setting"
    families = {cf.name for cf in sample.column_families}
    wrong = (_wrong_setting(setting, controller, families) for setting in decided.settings)
    if (why := next(filter(None, wrong), None)) is not None:
        return why
    keys = [(setting.knob, setting.column_family) for setting in decided.settings]
    twice = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
    return None if twice is None else f"it set {twice[0]} twice in one decision"


def _wrong_setting(setting: Setting, controller: Controller, families: set[str]) -> str | None:
    knob: object = setting.knob
    if not isinstance(knob, Knob):
        return f"it turned {_short(knob)}, which is no knob"
    if knob not in controller.knobs:
        return f"it turned {knob}, which it has not declared"
    return _wrong_value(knob, setting.value) or _wrong_family(knob, setting.column_family, families)


def _wrong_value(knob: Knob, value: object) -> str | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return f"it set {knob} to {_short(value)}, which is no whole number"
    return f"it set {knob} to a number of more than 63 bits" if abs(value) > _MOST else None


def _wrong_family(knob: Knob, family: object, families: set[str]) -> str | None:
    if KNOBS[knob].scope != "column_family":
        return None if family is None else f"it set {knob} for a column family, and there is one for all"
    if family is None:
        return f"it set {knob} without saying of which column family"
    if isinstance(family, str) and family in families:
        return None
    return f"it set {knob} of column family {_short(family)}, which does not exist"


def _short(thing: object) -> str:
    try:
        words = repr(thing)
    except Exception:  # a third-party object
        words = f"a {type(thing).__name__}"
    return words if len(words) <= 60 else f"{words[:57]}..."

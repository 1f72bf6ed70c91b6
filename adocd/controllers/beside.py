"""Which option values a law is shown when another law changes them. Pure.

A law judges a database by the owner's thresholds. If another law moves one of them for its own purpose, the first law
would take that for an overflow: `spring-and-gear` slows writes from the first due compaction on, so ADOC would see
level 0 overflow at 4 files, where alone it never acts. So if a law `reads` an option that another law turns, it sees

- the owner's value;
- for a limit, the laxer of the owner's value and the one in force: `toggle` and `silk` lift a limit on purpose, so a
  backlog below it is intended, and RocksDB does not slow writes down for it either.

So another law never makes a law act where it would not act alone. It may keep it from acting while it lifts a limit.
A value that an operator has pinned, or that `manual` holds, is shown as it is: both are the operator's own word.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from adocd.controllers.base import Controller
from adocd.model.judged import judged
from adocd.model.knob import KNOBS, Knob
from adocd.model.overflow import PRECEDENCE
from adocd.model.sample import ColumnFamilyOptions, ColumnFamilySample, Sample
from adocd.model.values import of_family

#: Limits, for which a higher value is laxer.
_LIMITS = frozenset({Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP, Knob.SOFT_PENDING_LIMIT, Knob.HARD_PENDING_LIMIT})


def others_turn(law: Controller, laws: Iterable[Controller]) -> frozenset[Knob]:
    """Return the knobs that a law reads and another of these laws turns for its own purpose."""
    turned = frozenset[Knob]().union(*(o.knobs for o in laws if o is not law and not o.is_operators_word))
    return law.reads & (turned - law.knobs)


def as_if_alone(sample: Sample, knobs: Iterable[Knob]) -> Sample:
    """Return the sample with the owner's values of these knobs, and with the overflows that follow from them.

    Where the owner's values are not known (`Sample.originals`), the sample stays as it is.
    """
    shown = {cf.name: _shown(cf.name, sample, knobs) for cf in sample.column_families}
    if not any(shown.values()):
        return sample
    families = tuple(_with(cf, shown[cf.name], sample) for cf in sample.column_families)
    overflow = {o for cf in families for o in cf.overflow}
    its = sample.options.column_families
    options = replace(
        sample.options, column_families={name: {**values, **shown.get(name, {})} for name, values in its.items()}
    )
    return replace(
        sample, options=options, column_families=families, overflow=tuple(o for o in PRECEDENCE if o in overflow)
    )


def _shown(family: str, sample: Sample, knobs: Iterable[Knob]) -> dict[str, str]:
    """Return the options that are shown with another value than the one in force."""
    owners = {} if sample.originals is None else sample.originals.column_families.get(family, {})
    live: Mapping[str, str] = sample.options.column_families.get(family, {})
    shown = {}
    for knob in knobs:
        option = KNOBS[knob].options[0]
        if option not in owners or option not in live or of_family(family, option) in sample.pinned:
            continue
        value = _laxer(knob, owners[option], live[option]) if knob in _LIMITS else owners[option]
        if value != live[option]:
            shown[option] = value
    return shown


def _laxer(knob: Knob, one: str, other: str) -> str:
    if KNOBS[knob].zero_is_off and "0" in (one, other):
        return "0"
    if knob is Knob.LEVEL0_SLOWDOWN and "-1" in (one, other):
        return "-1"  # off
    return max(one, other, key=int)


def _with(cf: ColumnFamilySample, shown: Mapping[str, str], sample: Sample) -> ColumnFamilySample:
    if not shown:
        return cf
    return judged(cf, ColumnFamilyOptions.read({**sample.options.column_families[cf.name], **shown}))

"""What a law is shown of a database whose options another law beside it turns. Pure.

A law judges a database by the owner's thresholds. Beside a law that moves one of them for ends of its own, it would
take that for an overflow: with `spring-and-gear`, which slows writes from the first due merge on, ADOC would see level
0 overflow at 4 files, where alone it never acts. So of each option that a law `reads` and another turns it is shown

- the owner's value;
- of a limit the laxer one of the owner's and the one in force: where `toggle` or `silk` have lifted it, what piles up
  below is meant, and writes are not slowed down for it either.

So another law never makes it act where it would not alone, and may keep it from acting for as long as it lifts a limit.
What an operator has pinned is shown as it is, and so is what `manual` holds: both are the operator's own word.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from adocd.controllers.base import Controller
from adocd.model.judged import judged
from adocd.model.knob import KNOBS, Knob
from adocd.model.overflow import PRECEDENCE
from adocd.model.sample import ColumnFamilyOptions, ColumnFamilySample, Sample
from adocd.model.values import of_family

#: Limits: the higher the laxer.
_LIMITS = frozenset({Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP, Knob.SOFT_PENDING_LIMIT, Knob.HARD_PENDING_LIMIT})


def others_turn(law: Controller, laws: Iterable[Controller]) -> frozenset[Knob]:
    """Name what a law reads and another one of these turns for ends of its own."""
    turned = frozenset[Knob]().union(*(o.knobs for o in laws if o is not law and not o.is_operators_word))
    return law.reads & (turned - law.knobs)


def as_if_alone(sample: Sample, knobs: Iterable[Knob]) -> Sample:
    """Show a sample with these knobs of column families as their owner has them, overflows included.

    Where nobody knows what the owner had (`Sample.originals`), they stay as they are.
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
    """Name the options that are shown otherwise than they are."""
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
    return max(one, other, key=int)


def _with(cf: ColumnFamilySample, shown: Mapping[str, str], sample: Sample) -> ColumnFamilySample:
    if not shown:
        return cf
    return judged(cf, ColumnFamilyOptions.read({**sample.options.column_families[cf.name], **shown}))

"""What may be done in a cycle, by the word of operators and the reach of the law. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from adocd.daemon.book import overrides
from adocd.daemon.book.journal.records import Override, Pause
from adocd.daemon.change.reach import out_of_reach
from adocd.daemon.control.session import Session
from adocd.model.sample import Sample
from adocd.model.values import Values


@dataclass(frozen=True, slots=True)
class Mandate:
    """What may be done.

    Attributes:
        asks_law: whether the law may act.
        keeps_wishes: whether what the law has set stays though it decides nothing: it was paused.
        pins: what operators have pinned here.
        holds_lease: whether there is anything to be done for which the lease is needed.
        pause: the operators' word as it was when the cycle began.
        idle: what is said where nothing is done.

    """

    asks_law: bool
    keeps_wishes: bool
    pins: Values
    holds_lease: bool
    pause: Pause | None
    idle: str


def mandate_of(
    session: Session,
    sample: Sample,
    pause: Pause | None,
    pinned: Iterable[Override],
    *,
    ends: bool,
    is_left_over: Callable[[], bool],
) -> Mandate:
    """Work it out; `ends` is whether the daemon stops, `is_left_over` whether something of ours has to be put back."""
    law = session.law
    unreachable = out_of_reach(law.controller, sample, session.detail.capabilities)
    may_act = bool(law.controller.knobs) and not law.policy.dry_run and unreachable is None
    asks_law = may_act and pause is None and not ends
    to_restore = ends or (pause is not None and pause.state == "restored")
    pins = {} if to_restore or law.policy.dry_run else pins_of(session, sample, pinned)
    keeps = pause is not None and not to_restore and bool(session.steering.wanted)
    holds = asks_law or keeps or bool(pins) or is_left_over()
    return Mandate(asks_law, keeps, pins, holds, pause, _idle(session, sample, pause, unreachable))


def pins_of(session: Session, sample: Sample, pinned: Iterable[Override]) -> Values:
    """Put the operators' pins into options of this database."""
    families = [cf.name for cf in sample.column_families]
    return overrides.pins(pinned, families, sample.values, session.detail.capabilities)


def _idle(session: Session, sample: Sample, pause: Pause | None, unreachable: str | None) -> str:
    name = session.law.controller.name
    if pause is not None:
        return f"paused: {pause.reason}"
    if unreachable is not None:
        return f"{name} cannot work here: {unreachable}"
    overflow = " and ".join(f"{o} overflow" for o in sample.overflow) or "no overflow"
    rate = "" if sample.writes_per_s is None else f"{sample.writes_per_s:,.0f} writes/s, "
    return f"{name}: {rate}writes {sample.condition}, {overflow}"

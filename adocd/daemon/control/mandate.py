"""What a cycle may do, given the operators' orders and whether the law can work here. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from adocd.daemon.book import overrides
from adocd.daemon.book.journal.records import Override, Pause
from adocd.daemon.control.session import Session
from adocd.model.sample import Sample
from adocd.model.values import Values


@dataclass(frozen=True, slots=True)
class Mandate:
    """What a cycle may do.

    Attributes:
        asks_law: whether the law may act.
        keeps_wishes: whether the law's values stay although it decides nothing, because it was paused.
        pins: the operators' pins, as options of this database.
        holds_lease: whether the cycle may have something to do that needs the lease.
        pause: the pause that was in force when the cycle began.
        idle: the sentence for a cycle that does nothing.

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
    """Return the mandate; `ends`: the daemon is stopping, `is_left_over`: some of our changes must still be undone."""
    law = session.law
    unreachable = law.reach.lack(law.controller, sample, session.detail.capabilities)
    may_act = bool(law.controller.knobs) and not law.policy.dry_run and unreachable is None
    asks_law = may_act and pause is None and not ends
    to_restore = ends or (pause is not None and pause.state == "restored")
    pins = {} if to_restore or law.policy.dry_run else pins_of(session, sample, pinned)
    keeps = pause is not None and not to_restore and not law.policy.dry_run and bool(session.steering.wanted)
    holds = asks_law or keeps or bool(pins) or is_left_over()
    return Mandate(asks_law, keeps, pins, holds, pause, _idle(session, sample, pause, unreachable))


def pins_of(session: Session, sample: Sample, pinned: Iterable[Override]) -> Values:
    """Translate the operators' pins into options of this database."""
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

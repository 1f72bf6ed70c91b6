"""A target's decisions, kept for operators and written to the daemon's log and journal."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from adocd.daemon.change.actuator import Result
from adocd.daemon.change.ledger import Deviation
from adocd.daemon.watch.vitals import TargetVitals
from adocd.model.decision import Decision, Setting
from adocd.model.decision_record import DecisionRecord, OptionChange, Outcome
from adocd.model.in_words import knob_value

_log = logging.getLogger(__name__)
_KEPT = 1000
#: A law whose decisions have no effect, as in a dry run, takes the same few in turn.
_ALTERNATING_MOST = 4
#: How often to tell that a decision was repeated, which writes it into the journal (s).
_RETELL_S = 10.0
_AS_INTENDED = ("applied", "unchanged", "dry-run")


class DecisionLog:
    """The last decisions of one target, oldest first; each is updated when its outcome is known.

    `tell` is called with each record and each update of it.
    """

    def __init__(
        self,
        path: str,
        wall_clock: Callable[[], float],
        tell: Callable[[DecisionRecord], None] = lambda record: None,  # noqa: ARG005
    ) -> None:
        self._path = path
        self._wall_clock = wall_clock
        self._tell = tell
        self._records: deque[DecisionRecord] = deque(maxlen=_KEPT)
        self._retold_unix_s = 0.0
        self.count = 0
        self.vitals = TargetVitals()

    def __iter__(self) -> Iterator[DecisionRecord]:
        return iter(self._records)

    def __reversed__(self) -> Iterator[DecisionRecord]:
        return reversed(self._records)

    @property
    def last(self) -> DecisionRecord | None:
        """The newest decision; None if there is none."""
        return self._records[-1] if self._records else None

    def add(
        self,
        controller: str,
        decision: Decision,
        monotonic_s: float,
        notes: tuple[str, ...],
        outcome: Outcome,
        changes: tuple[OptionChange, ...] = (),
    ) -> DecisionRecord:
        """Record a decision; it is `in-flight` until `finish` gets its result.

        One for which nothing is sent is no new record where a recent one was like it: that one then counts it.
        """
        record = DecisionRecord(
            sequence=self.count + 1,
            monotonic_s=monotonic_s,
            unix_s=self._wall_clock(),
            controller=controller,
            settings=decision.settings,
            signal=decision.signal,
            rule=decision.rule,
            reason=decision.reason,
            guards=notes,
            outcome=outcome,
            changes=changes,
        )
        if (earlier := self._earlier(record)) is not None:
            again = replace(
                earlier, signal=record.signal, reason=record.reason, times=earlier.times + 1, until_unix_s=record.unix_s
            )
            # Below 0 after the wall clock was set back.
            self._put(again, tells=not 0.0 <= record.unix_s - self._retold_unix_s < _RETELL_S)
            return again
        self.count += 1
        self._records.append(record)
        self._tell(record)
        if outcome != "in-flight":
            self.vitals.decided(record)
            self._log(record)
        return record

    def finish(self, record: DecisionRecord, result: Result) -> None:
        """Update an in-flight record with its result."""
        known = replace(record, outcome=result.outcome, elapsed_s=result.elapsed_s, detail=result.detail)
        self.vitals.decided(known)
        self.vitals.sent(result)
        self._replace(known)

    def deviated(self, deviation: Deviation) -> None:
        """Update the decision that last set an option with what happened to it since."""
        self.vitals.deviated(deviation)
        for record in reversed(self._records):
            if any(change.option == deviation.option for change in record.changes):
                self._replace(replace(record, outcome=deviation.outcome, detail=str(deviation)))
                return

    def _earlier(self, record: DecisionRecord) -> DecisionRecord | None:
        """Return the recent record that this one repeats; None if something was sent since, or if this one is sent."""
        if record.is_sent:
            return None
        for earlier in islice(reversed(self._records), _ALTERNATING_MOST):
            if earlier.is_sent:
                return None
            if earlier.is_like(record):
                return earlier
        return None

    def _replace(self, record: DecisionRecord) -> None:
        self._put(record)
        self._log(record)

    def _put(self, record: DecisionRecord, *, tells: bool = True) -> None:
        for index, kept in enumerate(self._records):
            if kept.sequence == record.sequence:
                self._records[index] = record
                break
        if tells:
            self._retold_unix_s = record.until_unix_s or 0.0
            self._tell(record)

    def _log(self, record: DecisionRecord) -> None:
        level = logging.INFO if record.outcome in _AS_INTENDED else logging.WARNING
        notes = "".join(f"; {note}" for note in (*record.guards, record.detail) if note)
        words = settings_in_words(record.settings) if record.settings else ", ".join(map(str, record.changes))
        _log.log(
            level,
            "%s: %s: %s: %s: %s%s",
            self._path,
            record.rule,
            record.signal,
            words or "no knob",
            record.outcome,
            notes,
            extra={"rule": record.rule, "outcome": record.outcome, "sequence": record.sequence},
        )


def settings_in_words(settings: tuple[Setting, ...]) -> str:
    """Format settings: `background_jobs 4, batch_size 128 MiB (default)`."""
    return ", ".join(_in_words(setting) for setting in settings) or "no knob"


def _in_words(setting: Setting) -> str:
    family = f" ({setting.column_family})" if setting.column_family else ""
    return f"{setting.knob} {knob_value(setting.knob, setting.value)}{family}"

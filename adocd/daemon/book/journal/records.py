"""The journal's records, as plain values. Times are wall-clock seconds since the epoch, given by the caller.

`target` is a target's id, or None for all targets; `path` is the database's directory, for people to read.
"""

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from adocd.daemon.book.journal.errors import PolicyNotUnderstood
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.values import OptionName, Scope

#: Most sent values kept per option; a law that sets a rate in arbitrary steps would add values for ever.
SENT_VALUES_KEPT = 64


@dataclass(frozen=True, slots=True)
class Intent:
    """A change about to be sent: the option's original value and its new one."""

    option: OptionName
    original: str
    value: str


@dataclass(frozen=True, slots=True)
class Tuned:
    """An option that adocd has changed, or was about to, and has not seen restored.

    `original` is the value before all our changes; `session` the one in which it was first changed. `sent` holds the
    values sent since, newest last. All count as ours: the newest may never have taken effect, and a host that reloads
    its OPTIONS file opens with whichever was persisted last.
    """

    target: str
    path: str | None
    scope: Scope
    name: str | None
    option: str
    original: str
    sent: tuple[str, ...]
    session: str
    since_unix_s: float
    sent_unix_s: float

    @property
    def option_name(self) -> OptionName:
        """The option's name as the model has it."""
        return OptionName(self.scope, self.option, self.name)

    def is_ours(self, value: str) -> bool:
        """Whether we sent this value, and it is not the original."""
        return value != self.original and value in self.sent

    def sending(self, value: str, now_unix_s: float) -> "Tuned":
        """Record that this value is sent now, as the newest; keeps the newest SENT_VALUES_KEPT."""
        before = tuple(each for each in self.sent if each != value)
        return replace(self, sent=(*before, value)[-SENT_VALUES_KEPT:], sent_unix_s=now_unix_s)

    def is_newest(self, value: str) -> bool:
        """Whether we sent this value last; an older one must be recorded again, or newer ones would push it out."""
        return self.is_ours(value) and value == self.sent[-1]


@dataclass(frozen=True, slots=True)
class JournaledPolicy:
    """A policy that an operator has set; it overrides the configuration file until it is reset."""

    target: str | None
    path: str | None
    #: The policy as JSON.
    content: str
    who: str
    unix_s: float

    @classmethod
    def of(cls, policy: Policy, *, target: str | None, path: str | None, who: str, unix_s: float) -> "JournaledPolicy":
        """Serialise a policy."""
        return cls(target, path, _POLICY.dump_json(policy, fallback=dict, warnings="none").decode(), who, unix_s)

    def policy(self) -> Policy:
        """Parse the policy; raises PolicyNotUnderstood when another version of adocd wrote it."""
        try:
            return _POLICY.validate_json(self.content)
        except ValidationError as error:
            whose = self.path or self.target or "all databases"
            raise PolicyNotUnderstood(
                f"the journal's policy for {whose}, set by {self.who}, is not one of this version's "
                f"({error.errors()[0]['msg']}): set or reset it"
            ) from None


@dataclass(frozen=True, slots=True)
class Override:
    """An operator's pin of an option; with `expires_unix_s` None it stays until removed.

    `option` is written like an OptionName; `column_family` None means every column family, if it is a column family's
    option.
    """

    target: str | None
    path: str | None
    option: str
    column_family: str | None
    value: str
    expires_unix_s: float | None
    reason: str
    who: str
    unix_s: float


@dataclass(frozen=True, slots=True)
class Pause:
    """An operator's order on whether a target, or all, may be changed.

    `paused`: the law decides nothing, and its values stay. `restored`: the originals are in force. `resumed`: this
    target is controlled although all are paused.
    """

    target: str | None
    path: str | None
    state: Literal["paused", "restored", "resumed"]
    reason: str
    who: str
    unix_s: float


What = Literal["set-policy", "reset-policy", "pin", "unpin", "pause", "resume", "restore", "forget", "token", "reload"]


@dataclass(frozen=True, slots=True)
class Operation:
    """An entry of the audit trail: what somebody did. Ids grow by one, across restarts, too.

    `who` is a user, "token NAME", "agent", or "adocd" for what happened by itself, such as an override that expired.
    `target` None means all targets, or none in particular. `what` is a `What` of this or another version of adocd.
    """

    id: int
    unix_s: float
    who: str
    what: str
    target: str | None
    path: str | None
    sentence: str


@dataclass(frozen=True, slots=True)
class JournaledSetting:
    """A decided value; the knob is a plain name, because this version may not know it."""

    knob: str
    value: int
    column_family: str | None


@dataclass(frozen=True, slots=True)
class JournaledChange:
    """One option's old and intended new value; the option is written like an OptionName."""

    option: str
    before: str
    value: str


@dataclass(frozen=True, slots=True)
class JournaledDecision:
    """A decision (adocd.model.decision_record.DecisionRecord) of this or a former `run` of the daemon.

    A run that died leaves its last decision in-flight for ever, because nobody saw its outcome.
    """

    target: str
    path: str | None
    run: str
    sequence: int
    unix_s: float
    controller: str
    settings: tuple[JournaledSetting, ...]
    signal: str
    rule: str
    reason: str
    guards: tuple[str, ...]
    outcome: str
    elapsed_s: float | None
    detail: str | None
    changes: tuple[JournaledChange, ...] = ()
    times: int = 1
    until_unix_s: float | None = None

    @classmethod
    def of(cls, record: DecisionRecord, *, target: str, path: str | None, run: str) -> "JournaledDecision":
        """Convert a loop's record."""
        return cls(
            target=target,
            path=path,
            run=run,
            sequence=record.sequence,
            unix_s=record.unix_s,
            controller=record.controller,
            settings=tuple(JournaledSetting(str(s.knob), s.value, s.column_family) for s in record.settings),
            signal=record.signal,
            rule=record.rule,
            reason=record.reason,
            guards=record.guards,
            outcome=record.outcome,
            elapsed_s=record.elapsed_s,
            detail=record.detail,
            changes=tuple(JournaledChange(str(c.option), c.before, c.value) for c in record.changes),
            times=record.times,
            until_unix_s=record.until_unix_s,
        )


_POLICY = TypeAdapter(Policy)

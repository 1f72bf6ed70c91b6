"""What is in the journal, as plain values. Times are wall clock seconds since the epoch, given by the caller.

`target` is a target's id, or None for all targets; `path` is the database's directory, for people to read.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from adocd.daemon.book.journal.errors import PolicyNotUnderstood
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.values import OptionName, Scope


@dataclass(frozen=True, slots=True)
class Intent:
    """A change about to be sent: the option's original value, and the value it is to have."""

    option: OptionName
    original: str
    value: str


@dataclass(frozen=True, slots=True)
class Tuned:
    """An option that adocd has changed, or was about to, and has not seen restored.

    `original` is the oldest one, from before all our changes; `session` the one in which it was changed first.
    `sent` are the values sent since, the newest last. All count as ours: the newest may never have taken effect, and
    a host that reloads its OPTIONS file comes up with whichever was persisted last.
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
        """Say which option this is."""
        return OptionName(self.scope, self.option, self.name)

    def is_ours(self, value: str) -> bool:
        """Whether this value is one of ours, and not the original."""
        return value != self.original and value in self.sent


@dataclass(frozen=True, slots=True)
class JournaledPolicy:
    """A policy an operator has set; it beats the configuration file until it is reset."""

    target: str | None
    path: str | None
    #: The policy as JSON.
    content: str
    who: str
    unix_s: float

    @classmethod
    def of(cls, policy: Policy, *, target: str | None, path: str | None, who: str, unix_s: float) -> "JournaledPolicy":
        """Make one of a policy."""
        return cls(target, path, _POLICY.dump_json(policy, fallback=dict, warnings="none").decode(), who, unix_s)

    def policy(self) -> Policy:
        """Read the policy; raises PolicyNotUnderstood when another version of adocd wrote it."""
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
    """An operator's pin of an option; `expires_unix_s` None: until it is removed.

    `option` is as OptionName is written; `column_family` None: of every one, where the option is a column family's.
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
    """An operator's word on whether a target, or all, may be changed.

    `paused`: the law decides nothing, and what is set stays. `restored`: the originals are to be there. `resumed`: this
    target goes on though all are paused.
    """

    target: str | None
    path: str | None
    state: Literal["paused", "restored", "resumed"]
    reason: str
    who: str
    unix_s: float


What = Literal["set-policy", "reset-policy", "pin", "unpin", "pause", "resume", "restore", "token", "reload"]


@dataclass(frozen=True, slots=True)
class Operation:
    """What somebody did: an entry of the audit trail. Ids grow by one, also over restarts.

    `who` is a user, "token NAME", "agent", or "adocd" for what had its time, such as an override that expired.
    `target` None: all targets, or none in particular. `what` is a `What` of this or another version of adocd.
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
    """A decided value; the knob by its name, for it may be one that this version does not know."""

    knob: str
    value: int
    column_family: str | None


@dataclass(frozen=True, slots=True)
class JournaledChange:
    """One option as it was, and as it was to become; the option as OptionName is written."""

    option: str
    before: str
    value: str


@dataclass(frozen=True, slots=True)
class JournaledDecision:
    """A decision (adocd.model.decision_record.DecisionRecord) of this or a former `run` of the daemon.

    A run that died leaves its last decision in-flight for ever: nobody has seen what became of it.
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

    @classmethod
    def of(cls, record: DecisionRecord, *, target: str, path: str | None, run: str) -> "JournaledDecision":
        """Make one of a loop's record."""
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
        )


_POLICY = TypeAdapter(Policy)
